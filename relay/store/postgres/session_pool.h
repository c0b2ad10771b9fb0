// SessionPool: the connections through which a PostgresStore reads. The pool makes and tunes (schema.h) each connection
// when it is first needed, and again after it was lost.
//
// Threads: Take and With may be called from any thread. A Lease belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/wire/postgres/postgres_session.h"

namespace weir {

class SessionPool {
 public:
  // A session that one caller uses. The destructor returns it to the pool. The pool must outlive the lease.
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

  // The pool has at most `sessions` sessions. `patience` is the longest wait for a free session, and for a connection.
  SessionPool(std::string conninfo, size_t sessions, Duration patience)
      : conninfo_(std::move(conninfo)), patience_(patience), to_make_(sessions) {}

  // Returns a connected session. If its connection was lost while the session was idle, only the first use of the
  // session shows that. Returns an error if no session becomes free within `patience`, or if the server cannot be
  // reached.
  Result<Lease> Take();
  // Calls `work(session)` with a session and returns its result. If `work` fails because the connection was lost, and
  // not because an answer came too late, calls it once more with a new connection. So `work` must be safe to repeat.
  template <typename Value, typename Do>
  Result<Value> With(Do&& work);

 private:
  void PutBack(std::unique_ptr<PostgresSession> session);

  const std::string conninfo_;
  const Duration patience_;
  Mutex mutex_;
  Condition put_back_;
  std::vector<std::unique_ptr<PostgresSession>> idle_ WEIR_GUARDED_BY(mutex_);
  size_t to_make_ WEIR_GUARDED_BY(mutex_);  // number of sessions that may still be made
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
