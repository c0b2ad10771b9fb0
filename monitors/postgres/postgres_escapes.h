// Counts escapes: how often a PostgreSQL had to help itself since it is watched.
//
// A requested checkpoint is no escape by itself: a log that fills requests checkpoints, and those that keep pace are
// the server's stride. It is an escape if the log since the checkpoint before was beyond max_wal_size. A session that
// has to sync a file itself is an escape, for the checkpointer, whose work that is, has no room left in its queue. A
// session that writes pages itself is none: it does so with every page that it adds to a table, so bulk work alone
// would count thousands a second.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

class PostgresEscapes {
 public:
  struct Figures {
    uint64_t requested_checkpoints = 0;  // since the server began to count
    uint64_t backend_syncs = 0;          // since then
    bool log_is_beyond = false;          // larger than max_wal_size
  };

  // Call it for a new connection: another server, or one that was started anew, counts from its own beginning.
  void Forget() { before_.reset(); }
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
