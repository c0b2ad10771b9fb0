// PostgresEscapes: counts how often an overloaded PostgreSQL has protected itself (LoadSample::escapes) since weir
// began to watch it.
//
// A requested checkpoint is an escape if the log was larger than max_wal_size at the last Count before it. Other
// requested checkpoints are no escapes: a log that fills up requests them, and they are frequent on a server that keeps
// pace. Each file that a session has to sync itself is an escape, because the checkpointer, which usually does that,
// has no room left in its queue. A page that a session writes itself is no escape: the session writes each page that it
// adds to a table, so bulk work would count as thousands of escapes a second.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

class PostgresEscapes {
 public:
  struct Figures {
    uint64_t requested_checkpoints = 0;  // since the server began to count
    uint64_t backend_syncs = 0;          // files that sessions synced, since the server began to count
    bool log_is_beyond = false;          // true if the log is larger than max_wal_size
  };

  // Makes the next Count add nothing, and only store the figures. Call it for a new connection: another server, or one
  // that was restarted, has counts of its own.
  void Forget() { before_.reset(); }
  // Adds the escapes since the last call. The first call adds none. Adds none either if a figure has become smaller,
  // because the server has then reset it.
  void Count(const Figures& now) {
    if (before_ && now.requested_checkpoints >= before_->requested_checkpoints &&
        now.backend_syncs >= before_->backend_syncs) {
      if (before_->log_is_beyond) count_ += now.requested_checkpoints - before_->requested_checkpoints;
      count_ += now.backend_syncs - before_->backend_syncs;
    }
    before_ = now;
  }
  uint64_t count() const { return count_; }

 private:
  std::optional<Figures> before_;
  uint64_t count_ = 0;
};

}  // namespace weir
