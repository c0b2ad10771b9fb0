// MemoryShards: the models of a MemoryQuotaStore, by name, spread over shards with a mutex each. MemoryShards bounds
// the number of models and counters. It also sweeps: it deletes counters that count nothing any longer, a few at a
// time, so that no caller waits long for a mutex.
//
// Threads: the caller must hold a shard's mutex while it uses the shard or anything in it. Functions that lock mutexes
// themselves say so; their callers must not hold these mutexes. A thread that needs both mutexes must lock the shard's
// before across_mutex().
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
#include "config/mutex.h"
#include "config/text/name_hash.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/model_counts.h"
#include "throttle/limits/quota/nearly_full.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {

class MemoryShards {
 public:
  // The data of one model.
  struct Slot {
    std::optional<ModelQuota> stated;     // the quota that SetQuota or StateQuota has stored; empty: none
    bool by_configuration = false;        // `stated` comes from a configuration (StateQuota)
    std::unique_ptr<ModelCounts> counts;  // null if the model has no counters
    bool bounded = false;                 // `counts` takes one of the max_models places
  };
  struct alignas(64) Shard {
    Mutex mutex;
    std::unordered_map<std::string, Slot, HashName, SameName> slots WEIR_GUARDED_BY(mutex);
    size_t next_bucket WEIR_GUARDED_BY(mutex) = 0;      // the position of the sweep in `slots`
    std::vector<Meter*> meters WEIR_GUARDED_BY(mutex);  // the meters of the current charge
    ReservationTokens tokens WEIR_GUARDED_BY(mutex);    // tokens for new reservations
  };
  // Must be less than 64: Import, and Reset of all models, hold the mutexes of all shards and across_mutex_ at the same
  // time, and the thread sanitizer supports at most 64 held mutexes in a thread.
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
  // Locks the mutexes of all shards. The result's destructor unlocks them.
  std::vector<std::unique_lock<Mutex>> LockAll();
  // Returns the "counters across models": those of limits that count all models together (TierCharge::of_all_models).
  // Only the meters of this object are used.
  ModelCounts& across() WEIR_REQUIRES(across_mutex_) { return across_; }
  Mutex& across_mutex() { return across_mutex_; }
  WallTime Now() const { return clock_.Now(); }
  uint64_t expired_reservations() const { return expired_reservations_.load(std::memory_order_relaxed); }
  // Returns the last time at which the end of a named reservation was forgotten too early (quota_store.h); the epoch if
  // none was.
  WallTime name_lost() const { return counts_.name_lost.load(std::memory_order_relaxed); }

  // Returns true if at least nine tenths of the room for models, for counters of tiers or for open reservations are
  // taken.
  bool NearlyFull() const {
    return std::max(models_.fullness(), counts_.meters.fullness()) >= kNearlyFull || NearlyFullOfHolds();
  }
  bool NearlyFullOfHolds() const { return counts_.open_holds.fullness() >= kNearlyFull; }
  bool HasRoomForHold() const { return counts_.open_holds.HasRoom(1); }
  bool HasRoomForModel() const { return models_.HasRoom(1); }
  bool HasRoomForMeters(size_t count) const { return counts_.meters.HasRoom(count); }

  // Makes the counters of a model that has none. `bounded` is true if the model has no quota, so that it needs one of
  // the max_models places. Returns null if it needs a place and all are taken.
  ModelCounts* NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) WEIR_REQUIRES(shard.mutex);
  // Does the same, but takes a place even if all are taken. Import calls it: a store must be able to read what it has
  // written, and it does not write which models had a quota of their charges (Charge::default_quota).
  ModelCounts& AddCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) WEIR_REQUIRES(shard.mutex);
  // Advances the counters to `now` (ModelCounts::Advance). Locks across_mutex() if this expires a reservation that has
  // charged a counter across models.
  void Advance(ModelCounts* counts, WallTime now) {
    if (const size_t expired = counts->Advance(now))
      expired_reservations_.fetch_add(expired, std::memory_order_relaxed);
  }
  // Settles a reservation at the present time (ModelCounts::Settle). Locks across_mutex() if the reservation has
  // charged a counter across models.
  void Settle(ModelCounts* counts, const ReservationId& id, const Settlement& settlement, SettlementAnswer* answer);
  // Stores a quota, and gives up the place of the model.
  void StateQuota(Slot* slot, const ModelQuota& quota);
  // Frees the max_models place of the model, if it has one, and the room of its minute, because a model with a quota
  // needs neither.
  void GiveUpPlace(Slot* slot) {
    if (!std::exchange(slot->bounded, false)) return;
    models_.GiveBack(1);
    slot->counts->Unbind();
  }
  // Deletes the counters of a model, and frees its max_models place. Locks across_mutex() as Settle does.
  void ForgetCounts(Slot* slot);
  // Deletes the counters and reservations of all models, but not their stated quotas. Locks across_mutex(). REQUIRES:
  // the caller holds the mutexes of all shards.
  void ForgetAll() WEIR_UNCHECKED_LOCKS;  // an annotation cannot name the mutexes of all shards
  // Records for ExpireAcross when the next reservation of a model is due. The store calls it after a charge has made a
  // reservation with a counter across models. REQUIRES: the caller holds the mutex of the model's shard.
  void NoteDue(std::string_view model, ModelCounts& counts) WEIR_REQUIRES(across_mutex_);
  // Expires reservations that are due in the models that NoteDue has recorded, at most a bounded number of models in
  // one call. Locks the mutexes.
  void ExpireAcross();

  // Sweeps a few hash buckets of a shard. The store calls it whenever it has added a name, so that names are deleted as
  // fast as they are added. REQUIRES: the caller does not hold across_mutex().
  void SweepInPassing(Shard& shard, WallTime now) WEIR_REQUIRES(shard.mutex);
  // Sweeps at most `buckets` hash buckets of the counters across models. Locks across_mutex().
  void SweepAcross(size_t buckets);
  // Sweeps all tier counters of a model in one call if the model's own counters are 0 and it has no open reservation.
  void SweepQuiet(Slot* slot, WallTime now);
  // SweepAll sweeps all shards and the counters across models. MakeRoom sweeps only some hash buckets, to make room for
  // a name; the next call of MakeRoom continues with the following ones. Both lock the mutexes.
  void SweepAll();
  void MakeRoom();

 private:
  ModelCounts& MakeCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) WEIR_REQUIRES(shard.mutex);
  void ExpireModel(const std::string& model);
  size_t SweepSlot(Slot* slot, WallTime now, size_t buckets);
  size_t SweepSome(Shard& shard, WallTime now, size_t buckets) WEIR_REQUIRES(shard.mutex);
  void SweepModel(Shard& shard, const HashedName& name);

  const WallClock& clock_;
  Bound models_;
  CountBounds counts_;
  Mutex across_mutex_;
  ModelCounts across_ WEIR_GUARDED_BY(across_mutex_);
  // The models that have, or had, reservations with a counter across models, each with the earliest deadline of its
  // reservations.
  std::set<std::pair<WallTime, std::string>> due_ WEIR_GUARDED_BY(across_mutex_);
  // Declared after the bounds and across_, because the destructors of the models use both.
  std::array<Shard, kShards> shards_;
  std::atomic<size_t> next_for_room_{0};  // the shard at which the next MakeRoom begins, modulo kShards
  std::atomic<uint64_t> expired_reservations_{0};
};

}  // namespace weir
