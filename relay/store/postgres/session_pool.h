// SessionPool: the connections on which a store is read. Each is made and tuned when it is first needed, and made again
// after it was lost.
//
// Threads: Take may be called from any thread; it waits until a session is free.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "monitors/postgres/postgres_session.h"

namespace weir {

class SessionPool {
 public:
  // Gives its session back to the pool when it is destroyed. The pool must outlive it.
  class Lease {
   public:
    Lease(SessionPool& pool, std::unique_ptr<PostgresSession> session) : pool_(&pool), session_(std::move(session)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (session_ != nullptr) pool_->PutBack(std::move(session_));
    }
    PostgresSession& operator*() const { return *session_; }
    PostgresSession* operator->() const { return session_.get(); }

   private:
    SessionPool* pool_;
    std::unique_ptr<PostgresSession> session_;
  };

  SessionPool(std::string conninfo, size_t sessions, Duration patience)
      : conninfo_(std::move(conninfo)), patience_(patience), to_make_(sessions) {}

  // Returns a connected session. One that was idle may have been lost since, which the next question on it shows.
  Result<Lease> Take();
  // Does `work` on a session, and once more if its connection turns out to have been lost before.
  template <typename Value, typename Do>
  Result<Value> With(Do&& work);

 private:
  void PutBack(std::unique_ptr<PostgresSession> session);

  const std::string conninfo_;
  const Duration patience_;
  std::mutex mutex_;
  std::condition_variable put_back_;
  std::vector<std::unique_ptr<PostgresSession>> idle_;
  size_t to_make_;
};

template <typename Value, typename Do>
Result<Value> SessionPool::With(Do&& work) {
  for (bool first = true;; first = false) {
    Result<Lease> session = Take();
    if (!session.ok()) return session.status();
    Result<Value> done = work(*session.value());
    if (done.ok() || !first || session.value()->connected() || session.value()->timed_out()) return done;
  }
}

}  // namespace weir
