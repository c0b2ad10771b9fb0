#include "throttle/limits/quota/memory_shards.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr size_t kSweptAtOnce = 4096;  // hash buckets of meters that are swept under one lock
constexpr size_t kSweptInPassing = 2;  // hash buckets of the shard, and of the meters
constexpr size_t kSweptForRoom = 256;  // hash buckets: some 20 us; all of them would take too long for an I/O thread
constexpr size_t kDueAtOnce = 256;     // models that one call of ExpireAcross visits

}  // namespace

std::vector<std::unique_lock<Mutex>> MemoryShards::LockAll() {
  std::vector<std::unique_lock<Mutex>> locks;
  for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
  return locks;
}

ModelCounts* MemoryShards::NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) {
  if (bounded && !models_.Take(1)) return nullptr;
  return &MakeCounts(shard, name, bounded, now);
}

ModelCounts& MemoryShards::AddCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) {
  if (bounded) models_.TakeAnyway(1);
  return MakeCounts(shard, name, bounded, now);
}

ModelCounts& MemoryShards::MakeCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) {
  Slot& slot = shard.slots.try_emplace(std::string(name.name)).first->second;
  slot.counts = std::make_unique<ModelCounts>(counts_, across_mutex_, !bounded, now);
  slot.bounded = bounded;
  return *slot.counts;
}

void MemoryShards::Settle(ModelCounts* counts, const ReservationId& id, const Settlement& settlement,
                          SettlementAnswer* answer) {
  const WallTime now = Now();
  Advance(counts, now);
  expired_reservations_.fetch_add(counts->Settle(id, settlement, now, answer), std::memory_order_relaxed);
}

void MemoryShards::StateQuota(Slot* slot, const ModelQuota& quota) {
  slot->stated = quota;
  GiveUpPlace(slot);
}

void MemoryShards::ForgetCounts(Slot* slot) {
  GiveUpPlace(slot);
  slot->counts.reset();
}

void MemoryShards::ForgetAll() {
  for (Shard& shard : shards_) {
    for (auto& [name, slot] : shard.slots) ForgetCounts(&slot);
    std::erase_if(shard.slots, [](const auto& item) { return !item.second.stated; });
  }
  const MutexLock lock(across_mutex_);
  across_.ForgetMeters();
  due_.clear();
}

void MemoryShards::NoteDue(std::string_view model, ModelCounts& counts) {
  const std::optional<WallTime> next = counts.NextDue();
  if (next == counts.noted_due) return;
  if (counts.noted_due) due_.erase({*counts.noted_due, std::string(model)});
  if (next) due_.emplace(*next, model);
  counts.noted_due = next;
}

void MemoryShards::ExpireAcross() {
  const uint64_t enough = expired_reservations() + kMostExpiredAtOnce;
  for (size_t looked = 0; looked < kDueAtOnce && expired_reservations() < enough; ++looked) {
    std::string model;
    {
      const MutexLock lock(across_mutex_);
      if (due_.empty() || due_.begin()->first > Now()) return;
      model = due_.extract(due_.begin()).value().second;
    }
    ExpireModel(model);
  }
}

void MemoryShards::ExpireModel(const std::string& model) {
  const HashedName name(model);
  Shard& shard = Of(name);
  const MutexLock lock(shard.mutex);
  const auto found = shard.slots.find(name);
  if (found == shard.slots.end() || !found->second.counts) return;
  ModelCounts& counts = *found->second.counts;
  Advance(&counts, Now());
  const MutexLock across_lock(across_mutex_);
  if (counts.noted_due) due_.erase({*counts.noted_due, model});
  counts.noted_due.reset();
  NoteDue(model, counts);
}

void MemoryShards::SweepAcross(size_t buckets) {
  const MutexLock lock(across_mutex_);
  across_.Sweep(Now(), std::min(buckets, across_.buckets()));
}

void MemoryShards::SweepInPassing(Shard& shard, WallTime now) { SweepSome(shard, now, kSweptInPassing); }

void MemoryShards::SweepQuiet(Slot* slot, WallTime now) {
  if (!slot->counts) return;
  Advance(slot->counts.get(), now);
  if (slot->counts->Quiet()) SweepSlot(slot, now, slot->counts->buckets());
}

// Returns the number of meter buckets that it visited.
size_t MemoryShards::SweepSlot(Slot* slot, WallTime now, size_t buckets) {
  if (!slot->counts) return 0;
  Advance(slot->counts.get(), now);
  const size_t swept = slot->counts->Sweep(now, std::min(buckets, slot->counts->buckets()));
  if (slot->counts->Forgettable()) ForgetCounts(slot);
  return swept;
}

// Sweeps the next buckets of the shard, and at most the same number of meter buckets of each model in them. Returns the
// number of buckets that it visited.
size_t MemoryShards::SweepSome(Shard& shard, WallTime now, size_t buckets) {
  size_t swept = 0;
  for (size_t i = std::min(buckets, shard.slots.bucket_count()); i > 0 && swept < buckets; --i) {
    ++swept;
    shard.next_bucket = (shard.next_bucket + 1) % shard.slots.bucket_count();
    for (auto at = shard.slots.begin(shard.next_bucket); at != shard.slots.end(shard.next_bucket);) {
      auto& [name, slot] = *at++;
      swept += SweepSlot(&slot, now, buckets);
      if (!slot.counts && !slot.stated) shard.slots.erase(shard.slots.find(name));
    }
  }
  return swept;
}

void MemoryShards::SweepModel(Shard& shard, const HashedName& name) {
  size_t buckets = 1;
  for (size_t swept = 0; swept < buckets; swept += kSweptAtOnce) {
    const MutexLock lock(shard.mutex);
    const auto found = shard.slots.find(name);
    if (found == shard.slots.end()) return;
    Slot& slot = found->second;
    if (slot.counts) buckets = slot.counts->buckets();
    SweepSlot(&slot, Now(), std::min(buckets, kSweptAtOnce));
    if (slot.counts) continue;
    if (!slot.stated) shard.slots.erase(found);
    return;
  }
}

void MemoryShards::SweepAll() {
  size_t buckets = 1;
  for (size_t swept = 0; swept < buckets; swept += kSweptAtOnce) {
    SweepAcross(kSweptAtOnce);
    const MutexLock lock(across_mutex_);
    buckets = across_.buckets();
  }
  std::vector<std::string> names;
  for (Shard& shard : shards_) {
    names.clear();
    {
      const MutexLock lock(shard.mutex);
      for (const auto& [name, slot] : shard.slots)
        if (slot.counts) names.push_back(name);
    }
    for (const std::string& name : names) SweepModel(shard, HashedName(name));
  }
}

void MemoryShards::MakeRoom() {
  SweepAcross(kSweptForRoom);
  size_t left = kSweptForRoom;
  for (size_t i = 0; i < kShards && left > 0; ++i) {
    Shard& shard = shards_[next_for_room_.fetch_add(1, std::memory_order_relaxed) % kShards];
    const MutexLock lock(shard.mutex);
    left -= std::min(left, SweepSome(shard, Now(), left));
  }
}

}  // namespace weir
