// MemoryShards: the models of a memory store, by name, in shards that are locked apart. Keeps to the bounds of names,
// and sweeps: forgets what no longer counts, a part at a time, so that no caller waits long for a lock.
//
// Threads: any. A caller that uses a shard, or what is in it, holds its lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "config/text/name_hash.h"
#include "throttle/quota/memory_store.h"
#include "throttle/quota/model_counts.h"
#include "throttle/quota/nearly_full.h"
#include "throttle/quota/reservation_id.h"

namespace weir {

class MemoryShards {
 public:
  // All that is kept of one model.
  struct Slot {
    std::optional<ModelQuota> stated;
    bool by_configuration = false;        // `stated` is a configuration's
    std::unique_ptr<ModelCounts> counts;  // null while nothing counts
    bool bounded = false;                 // counts takes a place of max_models
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<std::string, Slot, HashName, SameName> slots;
    size_t next_bucket = 0;      // position of the sweep in `slots`
    std::vector<Meter*> meters;  // for the current charge
    ReservationTokens tokens;
  };
  // Import and Reset lock all of them, and across_mutex_; the thread sanitizer follows 64 locks of a thread.
  static constexpr size_t kShards = 32;

  // The clock must outlive it.
  MemoryShards(const MemoryStoreOptions& options, const WallClock& clock)
      : clock_(clock),
        models_(options.max_models),
        counts_{.meters = Bound(options.max_tier_keys),
                .open_holds = Bound(options.max_reservations),
                .ended_holds = EndsBound(options.max_reservations),
                .named_ends = EndsBound(options.max_reservations),
                .named_ends_of_model = options.max_named_ended,
                .entry_bytes = Bound(options.max_entry_bytes)},
        across_{counts_, across_mutex_, false, WallTime()} {}

  Shard& Of(const HashedName& name) { return shards_[name.hash >> 32 & (kShards - 1)]; }
  std::array<Shard, kShards>& all() { return shards_; }
  std::vector<std::unique_lock<std::mutex>> LockAll();
  // Counts for all models together: only meters. A thread that also locks a shard locks the shard first.
  ModelCounts& across() { return across_; }
  std::mutex& across_mutex() { return across_mutex_; }
  WallTime Now() const { return clock_.Now(); }
  uint64_t expired_reservations() const { return expired_reservations_.load(std::memory_order_relaxed); }
  WallTime name_lost() const { return counts_.name_lost.load(std::memory_order_relaxed); }

  bool NearlyFull() const {
    return std::max(models_.fullness(), counts_.meters.fullness()) >= kNearlyFull || NearlyFullOfHolds();
  }
  bool NearlyFullOfHolds() const { return counts_.open_holds.fullness() >= kNearlyFull; }
  bool HasRoomForHold() const { return counts_.open_holds.HasRoom(1); }
  bool HasRoomForModel() const { return models_.HasRoom(1); }
  bool HasRoomForMeters(size_t count) const { return counts_.meters.HasRoom(count); }

  // bounded: it needs a place of max_models. Returns null if there is none.
  ModelCounts* NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now);
  void Advance(ModelCounts* counts, WallTime now) {
    if (const size_t expired = counts->Advance(now))
      expired_reservations_.fetch_add(expired, std::memory_order_relaxed);
  }
  void Settle(ModelCounts* counts, const ReservationToken& token, const Settlement& settlement,
              SettlementAnswer* answer);
  void StateQuota(Slot* slot, const ModelQuota& quota);  // its name then takes no room
  void ForgetCounts(Slot* slot);
  // Forgets all that counts; the caller holds the locks of all shards.
  void ForgetAll();
  // Notes when the model, which has a reservation with a part across models, has to be looked at. The caller holds the
  // locks of its shard and of the counts across models.
  void NoteDue(std::string_view model, ModelCounts& counts);
  // Gives back what is due in these models, a bounded number at once; takes the locks.
  void ExpireAcross();

  // Called whenever a name is new: so names are forgotten as fast as they come.
  void SweepInPassing(Shard& shard, WallTime now);
  void SweepAcross(size_t buckets);  // takes the lock
  // Sweeps, at once, a model for which nothing counts, except perhaps for tiers.
  void SweepQuiet(Slot* slot, WallTime now);
  // These take the locks: SweepAll sweeps all of it; MakeRoom does a step of a search for room, which the next caller
  // that finds none continues.
  void SweepAll();
  void MakeRoom();

 private:
  void ExpireModel(const std::string& model);
  size_t SweepSlot(Slot* slot, WallTime now, size_t buckets);
  size_t SweepSome(Shard& shard, WallTime now, size_t buckets);
  void SweepModel(Shard& shard, const HashedName& name);

  const WallClock& clock_;
  Bound models_;
  CountBounds counts_;
  std::mutex across_mutex_;
  ModelCounts across_;
  // Models that have, or had, reservations with a part across models, by the first deadline of each. Guarded by
  // across_mutex_.
  std::set<std::pair<WallTime, std::string>> due_;
  std::array<Shard, kShards> shards_;  // after the bounds, to which its names are given back, and after the meters that
                                       // it has pinned
  std::atomic<size_t> next_for_room_{0};
  std::atomic<uint64_t> expired_reservations_{0};
};

}  // namespace weir
