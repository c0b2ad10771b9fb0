// How often a PostgreSQL had to help itself since it is watched.
//
// A checkpoint that is requested is none by itself: what fills the log requests them, and those that keep pace are the
// server's stride. It is one when the log since the one before was beyond max_wal_size. A session that has to sync a
// file itself is one, for the checkpointer, whose work that is, has no room left in its queue. That it writes pages
// itself is none: it does with every page that it adds to a table, so bulk work alone would count thousands a second.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

class PostgresEscapes {
 public:
  struct Figures {
    uint64_t requested_checkpoints = 0;  // since the server's own beginning
    uint64_t backend_syncs = 0;          // since then
    bool log_is_beyond = false;          // max_wal_size
  };

  // Another server, or one that was started anew, counts from its own beginning.
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
