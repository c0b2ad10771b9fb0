// MemoryShards: the models of a memory store, by name, in shards that are locked apart. Keeps to the bounds of names,
// and sweeps: forgets what no longer counts, a part at a time, so that nobody waits long for a lock.
//
// Threads: any. Who uses a shard, or what is in it, has its lock.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "throttle/quota/model_counts.h"
#include "throttle/quota/name_bound.h"
#include "throttle/quota/name_map.h"
#include "throttle/quota/reservation_id.h"

namespace weir {

// Hashed once, for the shard and for its map.
struct HashedName {
  explicit HashedName(std::string_view text) : name(text), hash(HashOfName(text)) {}

  std::string_view name;
  size_t hash;
};

class MemoryShards {
 public:
  // Of a model.
  struct Slot {
    std::optional<ModelQuota> stated;
    std::unique_ptr<ModelCounts> counts;  // none while nothing counts
    bool bounded = false;                 // counts has its room of max_models
  };
  struct HashName {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the library looks for
    size_t operator()(const HashedName& name) const { return name.hash; }
    size_t operator()(const std::string& name) const { return HashOfName(name); }
  };
  struct SameName {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the library looks for
    bool operator()(const std::string& a, const std::string& b) const { return a == b; }
    bool operator()(const HashedName& a, const std::string& b) const { return a.name == b; }
    bool operator()(const std::string& a, const HashedName& b) const { return a == b.name; }
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<std::string, Slot, HashName, SameName> slots;
    size_t next_bucket = 0;      // of the slots, to be swept
    std::vector<Meter*> meters;  // of the charge at hand
    ReservationTokens tokens;
  };
  static constexpr size_t kShards = 64;

  // The clock must outlive it.
  MemoryShards(size_t max_models, size_t max_tier_keys, const WallClock& clock)
      : clock_(clock), models_(max_models), meters_(max_tier_keys) {}

  Shard& Of(const HashedName& name) { return shards_[name.hash >> 32 & (kShards - 1)]; }
  std::array<Shard, kShards>& all() { return shards_; }
  WallTime Now() const { return clock_.Now(); }
  uint64_t expired_reservations() const { return expired_reservations_.load(std::memory_order_relaxed); }

  bool HasRoomForModel() const { return models_.HasRoom(1); }
  bool HasRoomForMeters(size_t count) const { return meters_.HasRoom(count); }

  // bounded: it needs room of max_models; null: there is none.
  ModelCounts* NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now);
  void Advance(ModelCounts* counts, WallTime now) {
    if (const size_t expired = counts->Advance(now))
      expired_reservations_.fetch_add(expired, std::memory_order_relaxed);
  }
  void StateQuota(Slot* slot, const ModelQuota& quota);  // its name needs no room then
  void ForgetCounts(Slot* slot);

  // Whenever a name is new: names are forgotten as fast as they come.
  void SweepInPassing(Shard& shard, WallTime now);
  // Of a model of which nothing counts but perhaps for tiers, all at once.
  void SweepQuiet(Slot* slot, WallTime now);
  // These take the locks: all of it; and a step of a search for room that goes on with the next who finds none.
  void SweepAll();
  void MakeRoom();

 private:
  size_t SweepSlot(Slot* slot, WallTime now, size_t buckets);
  size_t SweepSome(Shard& shard, WallTime now, size_t buckets);
  void SweepModel(Shard& shard, const HashedName& name);

  const WallClock& clock_;
  NameBound models_;
  NameBound meters_;
  std::array<Shard, kShards> shards_;  // after the bounds, to which its names are given back
  std::atomic<size_t> next_for_room_{0};
  std::atomic<uint64_t> expired_reservations_{0};
};

}  // namespace weir
