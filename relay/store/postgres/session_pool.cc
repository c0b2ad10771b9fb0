#include "relay/store/postgres/session_pool.h"

#include <algorithm>

#include "relay/store/cause.h"
#include "relay/store/postgres/schema.h"

namespace weir {
namespace {

constexpr const char* kTooManyConnections = "53300";
constexpr Duration kFailureLasts = std::chrono::seconds(10);
constexpr Duration kLongestStall = std::chrono::seconds(5);
constexpr int kFailuresInARow = 3;

TimePoint Now() { return Clock::System().Now(); }

PoolBounds Sane(PoolBounds bounds) {
  return {.least = std::clamp<size_t>(bounds.least, 1, std::max<size_t>(1, bounds.most)),
          .most = std::max<size_t>(1, bounds.most)};
}

}  // namespace

SessionPool::SessionPool(std::string conninfo, PoolBounds bounds, Duration patience)
    : conninfo_(std::move(conninfo)), bounds_(Sane(bounds)), patience_(patience), size_(bounds_, Now()) {}

Result<SessionPool::Lease> SessionPool::Take() {
  const TimePoint end = Now() + patience_;
  for (;;) {
    if (!AwaitTurn(end)) return Status::Error("PostgreSQL: all connections are in use");
    Lease lease(*this, Now());
    lease.session_ = TakeIdle();
    if (lease->connected()) return lease;
    Status ready = lease->Connect(end - Now());
    if (ready.ok()) ready = Tune(*lease, end - Now());
    if (ready.ok()) return lease;
    if (lease->error_code() != kTooManyConnections || Now() >= end || !WaitsForOthers()) return ready;
  }
}

// Returns false if the caller has no turn at `end`. A caller that waits lets the size be judged even if no read ends.
bool SessionPool::AwaitTurn(TimePoint end) {
  MutexLock lock(mutex_);
  const TimePoint begin = Now();
  if (waiters_.empty() && stats_.used < size_.now()) {
    NoteUse(begin);
    Note(begin);
    return true;
  }
  Waiter waiter;
  waiters_.push_back(&waiter);
  ++stats_.waits;
  TimePoint now = begin;
  for (Note(now); !waiter.has_turn && now < end; Note(now)) {
    waiter.has_changed.wait_for(lock, std::min(PoolSize::kStalled, end - now), [&] { return waiter.has_turn; });
    now = Now();
  }
  stats_.waited += now - begin;
  if (waiter.has_turn) return true;
  std::erase(waiters_, &waiter);
  Note(now);
  return false;
}

void SessionPool::NoteUse(TimePoint now) {
  if (stats_.used++ < bounds_.least) progressed_at_ = now;
}

std::unique_ptr<PostgresSession> SessionPool::TakeIdle() {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<PostgresSession> session = std::move(idle_.back().session);
      idle_.pop_back();
      return session;
    }
  }
  return std::make_unique<PostgresSession>(conninfo_);
}

void SessionPool::PutBack(std::unique_ptr<PostgresSession> session, TimePoint since, bool succeeded) {
  const MutexLock lock(mutex_);
  const TimePoint now = Now();
  if (session != nullptr) {
    const bool connected = session->connected();
    Idle idle{std::move(session), now};
    connected ? idle_.push_back(std::move(idle)) : idle_.push_front(std::move(idle));
  }
  --stats_.used;
  stats_.taken += now - since;
  if (succeeded) {
    ++stats_.reads;
    last_read_ = {};
    failures_ = 0;
    progressed_at_ = now;
    size_.Finished(now, stats_.used, waiters_.size());
  }
  Note(now);
}

Status SessionPool::Failed(const Status& status) {
  const Cause cause = CauseOfError(status);
  const bool is_answered =
      cause != Cause::kDatabaseAway && cause != Cause::kDatabaseSlow && cause != Cause::kDatabaseBusy;
  const MutexLock lock(mutex_);
  ++stats_.failed;
  if (++failures_ < kFailuresInARow && is_answered) return status;
  last_read_ = status;
  last_failure_ = Now();
  return status;
}

Status SessionPool::Health(TimePoint now) const {
  const MutexLock lock(mutex_);
  if (!last_read_.ok() && now - last_failure_ < kFailureLasts) return last_read_;
  if (stats_.used < bounds_.least || now - progressed_at_ < kLongestStall) return {};
  return Status::Error("PostgreSQL: no answer in time to all reads that are under way");
}

// Returns true if the caller, whom the server has refused a connection, may wait for one that others use.
bool SessionPool::WaitsForOthers() {
  const MutexLock lock(mutex_);
  ++stats_.refused;
  if (stats_.used > 1) size_.Limit(stats_.used - 1, Now());
  return stats_.used > 1 || (!idle_.empty() && idle_.back().session->connected());
}

void SessionPool::Note(TimePoint now) {
  size_.Note(now, stats_.used, waiters_.size());
  GiveTurns(now);
}

void SessionPool::GiveTurns(TimePoint now) {
  for (; !waiters_.empty() && stats_.used < size_.now(); waiters_.pop_front()) {
    NoteUse(now);
    waiters_.front()->has_turn = true;
    waiters_.front()->has_changed.notify_one();
  }
}

void SessionPool::CloseIdle(TimePoint now) {
  const PoolStats stats = Stats();
  CloseIdle(now - kIdle, stats.open - std::min(stats.open, bounds_.least));
}

void SessionPool::CloseIdle(TimePoint unused_since, size_t most) {
  std::vector<std::unique_ptr<PostgresSession>> old;
  {
    const MutexLock lock(mutex_);
    for (Idle& idle : idle_) {
      if (old.size() == most) break;
      if (idle.session->connected() && idle.since <= unused_since) old.push_back(std::move(idle.session));
    }
    std::erase_if(idle_, [](const Idle& idle) { return idle.session == nullptr; });
  }
  for (const auto& session : old) session->Close();
  const MutexLock lock(mutex_);
  for (auto& session : old) idle_.push_front({std::move(session), unused_since});
}

PoolStats SessionPool::Stats() const {
  const MutexLock lock(mutex_);
  PoolStats stats = stats_;
  stats.most = bounds_.most;
  stats.allowed = size_.now();
  stats.waiting = waiters_.size();
  stats.steps = size_.steps();
  stats.open = stats.used;
  for (const Idle& idle : idle_) stats.open += idle.session->connected() ? 1 : 0;
  return stats;
}

}  // namespace weir
