#include "relay/store/postgres/session_pool.h"

#include "relay/store/postgres/schema.h"

namespace weir {

Result<SessionPool::Lease> SessionPool::Take() {
  std::unique_ptr<PostgresSession> session;
  {
    MutexLock lock(mutex_);
    const auto is_free = [this]() WEIR_REQUIRES(mutex_) { return !idle_.empty() || to_make_ > 0; };
    if (!put_back_.wait_for(lock, patience_, is_free)) return Status::Error("PostgreSQL: all connections are in use");
    if (idle_.empty()) {
      session = std::make_unique<PostgresSession>(conninfo_);
      --to_make_;
    } else {
      session = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  Lease lease(*this, std::move(session));
  if (!lease->connected()) {
    if (Status connected = lease->Connect(patience_); !connected.ok()) return connected;
    if (Status tuned = Tune(*lease, patience_); !tuned.ok()) return tuned;
  }
  return lease;
}

void SessionPool::PutBack(std::unique_ptr<PostgresSession> session) {
  {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(session));
  }
  put_back_.notify_one();
}

}  // namespace weir
