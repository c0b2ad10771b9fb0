// SessionPool: the connections on which a store is read. Each is made when it is first needed, tuned, and made again
// when it was lost.
//
// Threads: Take from any thread; it waits until one is free.
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
  // Goes back to the pool at its end. The pool outlives it.
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

  // Connected. One that was idle may have been lost since; who asks on it finds out.
  Result<Lease> Take();
  // What is to be asked on one of them, once more where the connection had been lost before.
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
