// SessionPool: the connections through which a PostgresStore reads. The pool makes and tunes (schema.h) each connection
// when it is first needed, and again after it was lost. It uses as many connections at once as help (pool_size.h), and
// closes those that were idle for a while (CloseIdle).
//
// Callers that wait for a session get it in the order in which they came. If the server refuses a connection because it
// has too many, the caller waits for one of the others, behind those that wait already.
//
// Threads: all functions may be called from any thread. A Lease belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/wire/postgres/postgres_session.h"
#include "relay/store/postgres/pool_size.h"

namespace weir {

struct PoolStats {
  size_t most = 0;       // the bound that the operator sets
  size_t allowed = 0;    // how many may be used at once now (PoolSize::now)
  size_t open = 0;       // connections, used or idle
  size_t used = 0;       // by callers now, also those that are being connected
  size_t waiting = 0;    // callers now
  uint64_t reads = 0;    // that succeeded
  uint64_t failed = 0;   // reads with an error, also those that got no connection
  uint64_t waits = 0;    // callers that had to wait
  uint64_t refused = 0;  // connections that the server refused because it had too many
  Duration waited{};     // in total
  Duration taken{};      // in total, by reads that have ended, without their waits
  PoolSize::Steps steps;
};

class SessionPool {
 public:
  static constexpr Duration kIdle = std::chrono::seconds(60);

  // A session that one caller uses. The destructor returns it to the pool. The pool must outlive the lease.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          session_(std::move(other.session_)),
          since_(other.since_),
          succeeded_(other.succeeded_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->PutBack(std::move(session_), since_, succeeded_);
    }
    PostgresSession& operator*() const { return *session_; }
    PostgresSession* operator->() const { return session_.get(); }
    void NoteSuccess() { succeeded_ = true; }

   private:
    friend class SessionPool;
    Lease(SessionPool& pool, TimePoint since) : pool_(&pool), since_(since) {}

    SessionPool* pool_;
    std::unique_ptr<PostgresSession> session_;  // null until the turn has one
    TimePoint since_;
    bool succeeded_ = false;
  };

  // `patience` is the longest wait for a free session, and for a connection.
  SessionPool(std::string conninfo, PoolBounds bounds, Duration patience);

  // Returns a connected session. If its connection was lost while the session was idle, only the first use of the
  // session shows that. Returns an error if no session becomes free within `patience`, or if the server cannot be
  // reached. A session whose use succeeded should be told so (NoteSuccess).
  Result<Lease> Take();
  // Calls `work(session)` with a session and returns its result. If `work` fails because the connection was lost, and
  // not because an answer came too late, closes the idle sessions, too, and calls `work` once more with a new
  // connection. So `work` must be safe to repeat.
  template <typename Value, typename Do>
  Result<Value> With(Do&& work);

  // Closes the connections that were idle for kIdle, except the pool's least number. Should be called now and then.
  void CloseIdle() { CloseIdle(Clock::System().Now()); }
  void CloseIdle(TimePoint now);
  PoolStats Stats() const;
  // Returns an error if reads cannot be answered now: if the newest read failed within the last ten seconds because the
  // database did not answer it, or the newest three for whatever reason; or if the pool's least number of reads is
  // under way, and none has succeeded for five seconds.
  Status Health() const { return Health(Clock::System().Now()); }
  Status Health(TimePoint now) const;

 private:
  struct Idle {
    std::unique_ptr<PostgresSession> session;
    TimePoint since;
  };
  struct Waiter {
    Condition has_changed;
    bool has_turn = false;
  };

  template <typename Value, typename Do>
  static Result<Value> Use(Lease& lease, Do& work);
  bool AwaitTurn(TimePoint end);
  std::unique_ptr<PostgresSession> TakeIdle();
  void PutBack(std::unique_ptr<PostgresSession> session, TimePoint since, bool succeeded);
  bool WaitsForOthers();
  // Closes sessions that were idle since `unused_since`, at most `most` of them.
  void CloseIdle(TimePoint unused_since, size_t most);
  void NoteUse(TimePoint now) WEIR_REQUIRES(mutex_);
  Status Failed(const Status& status);  // notes that a read failed
  void Note(TimePoint now) WEIR_REQUIRES(mutex_);
  void GiveTurns(TimePoint now) WEIR_REQUIRES(mutex_);

  const std::string conninfo_;
  const PoolBounds bounds_;
  const Duration patience_;
  mutable Mutex mutex_;
  PoolSize size_ WEIR_GUARDED_BY(mutex_);
  // The connected ones are at the back, and the one that was used last is the last. A closed session remembers which
  // host worked.
  std::deque<Idle> idle_ WEIR_GUARDED_BY(mutex_);
  std::deque<Waiter*> waiters_ WEIR_GUARDED_BY(mutex_);
  PoolStats stats_ WEIR_GUARDED_BY(mutex_);
  Status last_read_ WEIR_GUARDED_BY(mutex_);  // an error if the newest read got no answer, or the newest three failed
  TimePoint last_failure_ WEIR_GUARDED_BY(mutex_){};  // the time of that error
  int failures_ WEIR_GUARDED_BY(mutex_) = 0;          // in a row
  // The last time that a read succeeded, or began while fewer than the least number ran.
  TimePoint progressed_at_ WEIR_GUARDED_BY(mutex_){};
};

template <typename Value, typename Do>
Result<Value> SessionPool::With(Do&& work) {
  for (bool first = true;; first = false) {
    Result<Lease> session = Take();
    if (!session.ok()) return Failed(session.status());
    Result<Value> done = Use<Value>(session.value(), work);
    if (done.ok()) {
      session.value().NoteSuccess();
      return done;
    }
    if (!first || session.value()->connected() || session.value()->timed_out()) return Failed(done.status());
    CloseIdle(Clock::System().Now(), SIZE_MAX);  // a server that has ended one connection has probably ended all
  }
}

// After an exception the session may have statements whose answers nothing has read.
template <typename Value, typename Do>
Result<Value> SessionPool::Use(Lease& lease, Do& work) {
  try {
    return work(*lease);
  } catch (...) {
    lease->Close();
    throw;
  }
}

}  // namespace weir
