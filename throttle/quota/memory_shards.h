// MemoryShards: the models of a MemoryQuotaStore, by name. They are spread over shards, each with a lock of its own.
// MemoryShards keeps the number of models and counters within the bounds of the store, and sweeps: it deletes counters
// in which nothing counts any longer, a few at a time, so that no caller waits long for a lock.
//
// Threads: any. A caller that uses a shard, or anything in it, holds the shard's mutex. Functions that take locks
// themselves say so; their callers must not hold these locks. A thread that needs both mutexes locks the shard's before
// across_mutex().
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
    std::optional<ModelQuota> stated;     // the quota that SetQuota or StateQuota has stored; empty: none
    bool by_configuration = false;        // `stated` comes from a configuration (StateQuota)
    std::unique_ptr<ModelCounts> counts;  // null while nothing counts
    bool bounded = false;                 // `counts` takes one of the max_models places
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<std::string, Slot, HashName, SameName> slots;
    size_t next_bucket = 0;      // the position of the sweep in `slots`
    std::vector<Meter*> meters;  // the meters of the current charge
    ReservationTokens tokens;    // tokens for new reservations
  };
  // Import, and Reset of all models, lock all shards and across_mutex_ at once. The thread sanitizer can follow at most
  // 64 locks of a thread.
  static constexpr size_t kShards = 32;

  // `clock` must outlive this object.
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

  // Returns the shard of a model.
  Shard& Of(const HashedName& name) { return shards_[name.hash >> 32 & (kShards - 1)]; }
  std::array<Shard, kShards>& all() { return shards_; }
  // Locks all shards, until the result is destroyed.
  std::vector<std::unique_lock<std::mutex>> LockAll();
  // Returns the counters for all models together, of which only the meters are used. The caller holds across_mutex().
  ModelCounts& across() { return across_; }
  std::mutex& across_mutex() { return across_mutex_; }
  WallTime Now() const { return clock_.Now(); }
  uint64_t expired_reservations() const { return expired_reservations_.load(std::memory_order_relaxed); }
  // Returns when the end of a named reservation was last forgotten too early (quota_store.h); the epoch: never.
  WallTime name_lost() const { return counts_.name_lost.load(std::memory_order_relaxed); }

  // Returns true if nine tenths of the room for models, for counters of tiers or for open reservations are taken.
  bool NearlyFull() const {
    return std::max(models_.fullness(), counts_.meters.fullness()) >= kNearlyFull || NearlyFullOfHolds();
  }
  bool NearlyFullOfHolds() const { return counts_.open_holds.fullness() >= kNearlyFull; }
  bool HasRoomForHold() const { return counts_.open_holds.HasRoom(1); }
  bool HasRoomForModel() const { return models_.HasRoom(1); }
  bool HasRoomForMeters(size_t count) const { return counts_.meters.HasRoom(count); }

  // Makes the counters of a model that has no counters yet. `bounded`: the model has no quota, so it needs one of the
  // max_models places. Returns null if all of these are taken.
  ModelCounts* NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now);
  // Brings the counters to `now`. Takes across_mutex() if that expires a reservation with a counter across models.
  void Advance(ModelCounts* counts, WallTime now) {
    if (const size_t expired = counts->Advance(now))
      expired_reservations_.fetch_add(expired, std::memory_order_relaxed);
  }
  // Settles a reservation as of now (ModelCounts::Settle). Takes across_mutex() like Advance.
  void Settle(ModelCounts* counts, const ReservationToken& token, const Settlement& settlement,
              SettlementAnswer* answer);
  // Stores a quota. The model then takes none of the max_models places.
  void StateQuota(Slot* slot, const ModelQuota& quota);
  // Deletes the counters of a model, and gives up its place of max_models. Takes across_mutex() like Advance.
  void ForgetCounts(Slot* slot);
  // Deletes the counters and reservations of all models. Stated quotas stay. The caller holds the locks of all shards;
  // the function takes across_mutex().
  void ForgetAll();
  // Notes for ExpireAcross when a model's next reservation is due. Called for a model that has a reservation with a
  // counter across models. The caller holds the locks of the model's shard and across_mutex().
  void NoteDue(std::string_view model, ModelCounts& counts);
  // Expires reservations that are due, in the models that NoteDue has noted; a bounded number in one call. Takes the
  // locks.
  void ExpireAcross();

  // Sweeps a few buckets of a shard. Called whenever a name is new, so that names are deleted as fast as they are
  // added. The caller holds the lock of the shard, but not across_mutex().
  void SweepInPassing(Shard& shard, WallTime now);
  // Sweeps some of the counters across models. Takes across_mutex().
  void SweepAcross(size_t buckets);
  // Sweeps all counters of a model at once, if nothing counts for it except perhaps for tiers.
  void SweepQuiet(Slot* slot, WallTime now);
  // SweepAll sweeps all shards and the counters across models. MakeRoom does one step of a search for room; the next
  // caller that finds no room continues it. Both take the locks.
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
  // The models that have, or had, reservations with a counter across models, each by the first deadline of its
  // reservations. Guarded by across_mutex_.
  std::set<std::pair<WallTime, std::string>> due_;
  // Declared after the bounds and the meters across models, because the destructors of the models use both.
  std::array<Shard, kShards> shards_;
  std::atomic<size_t> next_for_room_{0};  // the shard at which the next MakeRoom begins, modulo kShards
  std::atomic<uint64_t> expired_reservations_{0};
};

}  // namespace weir
