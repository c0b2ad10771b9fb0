// Upkeep: what a running relay does for its database's keepers: it makes checkpoints for `weir backup`, compacts the
// database when it is asked to, and compacts by itself what was removed if its space does not come back otherwise
// (space_return.h). All is bulk work: it waits while the throttle holds bulk work back.
//
// Threads: any thread may call any function, except that Stop and the destructor must not be called by two at once. The
// object has a thread of its own, which compacts, and once a minute removes a checkpoint that no process uses any more
// (checkpoint_place.h) and looks at the space of removed events.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "relay/store/compaction.h"
#include "relay/store/rocksdb_store.h"
#include "relay/upkeep/space_return.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct Compaction {
  bool runs = false;
  bool waits = false;       // for the throttle
  double done = 0;          // the share that is done, 0 to 1
  uint64_t bytes_then = 0;  // size of the database when the compaction began
  uint64_t bytes_now = 0;
  std::string error;  // why the last compaction did not finish; empty if it did, or if there was none
};

// Compacts the store, piece by piece. Calls `before_piece` with the share that is done; it may wait, and an error
// ends the compaction.
Status CompactAll(const RocksDbStore& store, CompactWhat what, std::atomic<bool>* cancelled,
                  const std::function<Status(double done)>& before_piece);

// Returns true while the throttle holds bulk work back, for any reason.
bool IsBulkHeld(const LimiterView& view);

class Upkeep {
 public:
  using IsHeld = std::function<bool()>;  // returns true while bulk work should wait

  static constexpr Duration kLookEvery = std::chrono::minutes(1);
  static constexpr Duration kAskAgainAfter = std::chrono::milliseconds(200);
  // A compaction that has waited for so long goes on with one piece: what it frees may be what the engine lacks.
  static constexpr Duration kLongestWait = std::chrono::minutes(1);

  // `database` is the directory of the store, which must outlive the object. Tests look more often.
  Upkeep(const RocksDbStore& store, std::string database, IsHeld is_held, Duration look_every = kLookEvery);
  ~Upkeep() { Stop(); }

  // Makes a checkpoint at the place that `weir backup` has taken. Returns an error if no process has taken it.
  Status MakeCheckpoint();
  // Returns true while a backup has the place for checkpoints.
  bool backup_runs() const;
  bool is_held() const { return is_held_(); }

  // Begins to compact the store, and returns. Returns an error if such a compaction runs.
  Status BeginCompaction();
  // Makes the compaction end soon. Returns false if none runs.
  bool CancelCompaction();
  Compaction compaction() const;
  // Returns true while it compacts what was removed.
  bool returns_space() const { return returns_space_; }

  // Ends the thread and the compaction.
  void Stop();

 private:
  void Run();
  void RemoveAbandoned() const;
  void Compact();
  Status AwaitPiece(double done);
  void ReturnSpace();
  Status AwaitReturnPiece();

  const RocksDbStore& store_;
  const std::string database_;
  const IsHeld is_held_;
  const Duration look_every_;
  SpaceReturn space_return_;  // used by thread_

  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  Compaction compaction_ WEIR_GUARDED_BY(mutex_);
  std::atomic<bool> cancelled_{false};         // ends the compaction that was asked for
  std::atomic<bool> return_cancelled_{false};  // ends the one of what was removed
  std::atomic<bool> returns_space_{false};
  std::thread thread_;
};

}  // namespace weir
