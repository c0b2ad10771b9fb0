#include "throttle/quota/memory_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "throttle/quota/judge.h"
#include "throttle/quota/model_counts.h"
#include "throttle/quota/name_bound.h"
#include "throttle/quota/name_map.h"
#include "throttle/quota/reservation_id.h"

namespace weir {
namespace {

constexpr size_t kShards = 64;
constexpr size_t kSweptAtOnce = 4096;  // buckets of meters, under one lock
constexpr size_t kSweptInPassing = 2;  // buckets, whenever a name is new: names are forgotten as fast as they come
constexpr size_t kSweptForRoom = 256;  // buckets, for who found no room: some 20 us

// Hashed once, for the shard and for its map.
struct HashedName {
  explicit HashedName(std::string_view text) : name(text), hash(HashOfName(text)) {}

  std::string_view name;
  size_t hash;
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

struct Slot {
  std::optional<ModelQuota> stated;
  std::unique_ptr<ModelCounts> counts;  // none while nothing counts
  bool bounded = false;                 // counts has its room of max_models
};
using Slots = std::unordered_map<std::string, Slot, HashName, SameName>;

struct alignas(64) Shard {
  std::mutex mutex;
  Slots slots;
  size_t next_bucket = 0;
  std::vector<Meter*> meters;  // of the charge at hand
  ReservationTokens tokens;
};

// A charge, while it has the lock of its model's shard.
struct Turn {
  const HashedName& name;
  const Charge& charge;
  Shard& shard;
  WallTime now;
  Slot* slot = nullptr;
  ModelCounts* counts = nullptr;
  bool has_quota = false;
  bool has_new_names = false;
};

bool IsAmount(int64_t amount) { return amount >= 0 && amount <= kMostAmount; }

Charge CutDown(Charge charge) {
  charge.tokens = std::clamp<int64_t>(charge.tokens, 0, kMostAmount);
  charge.requests = std::clamp<int64_t>(charge.requests, 0, kMostAmount);
  return charge;
}

bool IsNothing(const Charge& charge) { return charge.requests == 0 && charge.tokens == 0 && !charge.holds(); }

void TellVerdict(const Verdict& verdict, ChargeAnswer* answer) {
  answer->code = verdict.code;
  answer->tier = verdict.tier;
  answer->unit = verdict.unit;
  answer->retry_after = verdict.retry_after;
}

void TellTiers(const Charge& charge, const std::vector<Meter*>& meters, WallTime now, std::vector<TierUsage>* tiers) {
  tiers->reserve(charge.tiers.size());
  for (size_t i = 0; i < charge.tiers.size(); ++i)
    tiers->push_back({meters[i] ? meters[i]->used() : Meter(charge.tiers[i].limit, now).used()});
}

}  // namespace

struct MemoryQuotaStore::Rep {
  Rep(const MemoryStoreOptions& options, const WallClock& wall_clock)
      : clock(wall_clock), max_models(options.max_models), models(max_models), meters(options.max_tier_keys) {}

  Shard& ShardOf(const HashedName& name) { return shards[name.hash >> 32 & (kShards - 1)]; }
  void Advance(ModelCounts* counts, WallTime now) {
    if (const size_t expired = counts->Advance(now)) expired_reservations.fetch_add(expired, std::memory_order_relaxed);
  }

  // False: there was no room for a name, and nothing is charged. The last try says so, and by force charges what it
  // can.
  bool Try(const HashedName& name, const Charge& charge, bool last, ChargeAnswer* answer);
  void Find(Turn* turn);
  bool HasRoom(const Turn& turn) const;
  bool Enter(Turn* turn, ChargeAnswer* answer);
  // bounded: it needs room of max_models; null: there is none.
  ModelCounts* NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now);

  void Unbound(Slot* slot);
  void Forget(Slot* slot);
  size_t SweepSlot(Slot* slot, WallTime now, size_t buckets);
  size_t SweepSome(Shard& shard, WallTime now, size_t buckets);
  void SweepModel(Shard& shard, const HashedName& name);
  void SweepAll();
  void MakeRoom();

  const WallClock& clock;
  const size_t max_models;
  NameBound models;
  NameBound meters;
  std::array<Shard, kShards> shards;
  std::atomic<size_t> next_shard_for_room{0};
  std::atomic<uint64_t> expired_reservations{0};
  std::atomic<uint64_t> dropped_entries{0};
};

bool MemoryQuotaStore::Rep::Try(const HashedName& name, const Charge& charge, bool last, ChargeAnswer* answer) {
  Shard& shard = ShardOf(name);
  const std::scoped_lock lock(shard.mutex);
  Turn turn{.name = name, .charge = charge, .shard = shard, .now = clock.Now()};
  Find(&turn);
  const std::optional<ModelQuota>& quota = turn.slot && turn.slot->stated ? turn.slot->stated : charge.default_quota;
  turn.has_quota = quota.has_value();
  const Verdict verdict = Judge(charge, quota, turn.counts, shard.meters, turn.now);
  TellVerdict(verdict, answer);

  const bool force = charge.forces();
  const bool goes = verdict.fits() && (quota || !charge.refuse_unknown);
  if ((goes || force) && !IsNothing(charge)) {
    bool has_room = HasRoom(turn);
    if (!has_room && !last) return false;
    if (charge.charges() && (has_room || force)) has_room = Enter(&turn, answer);
    if (!has_room && verdict.fits()) answer->code = QuotaCode::kTooManyNames;
  }
  answer->quota = quota;
  if (turn.counts) answer->usage = turn.counts->usage();
  TellTiers(charge, shard.meters, turn.now, &answer->tiers);
  if (turn.has_new_names) SweepSome(shard, turn.now, kSweptInPassing);
  return true;
}

void MemoryQuotaStore::Rep::Find(Turn* turn) {
  std::vector<Meter*>& meters_found = turn->shard.meters;
  meters_found.clear();
  const auto found = turn->shard.slots.find(turn->name);
  if (found != turn->shard.slots.end()) {
    turn->slot = &found->second;
    turn->counts = found->second.counts.get();
  }
  if (!turn->counts) return meters_found.resize(turn->charge.tiers.size());
  Advance(turn->counts, turn->now);
  turn->counts->FindMeters(turn->charge.tiers, turn->now, &meters_found);
}

bool MemoryQuotaStore::Rep::HasRoom(const Turn& turn) const {
  if (!turn.counts && !turn.has_quota && !models.HasRoom(1)) return false;
  if (turn.charge.holds() && turn.counts && !turn.counts->HasRoomToHold()) return false;
  const size_t missing = MissingMeters(turn.charge, turn.shard.meters);
  return missing == 0 || meters.HasRoom(missing);
}

// False: not all of it could be entered, and nothing was, but by force.
bool MemoryQuotaStore::Rep::Enter(Turn* turn, ChargeAnswer* answer) {
  const Charge& charge = turn->charge;
  const bool force = charge.forces();
  if (!turn->counts) {
    turn->counts = NewCounts(turn->shard, turn->name, !turn->has_quota, turn->now);
    turn->has_new_names = true;
  }
  size_t dropped = 1;
  if (turn->counts && (!charge.holds() || turn->counts->HasRoomToHold())) {
    std::vector<Meter*>& meters_found = turn->shard.meters;
    const size_t missing = MissingMeters(charge, meters_found);
    dropped = missing == 0 ? 0 : turn->counts->MakeMeters(charge, turn->now, &meters_found);
    if (missing > 0) turn->has_new_names = true;
    if (dropped > 0 && !force) return false;
    if (charge.holds()) {
      const ReservationToken token = turn->shard.tokens.Next();
      turn->counts->Enter(charge, turn->now, meters_found, token);
      answer->reservation = FormatReservationId(token, charge.model);
    } else {
      turn->counts->Enter(charge, turn->now, meters_found);
    }
    answer->charged = true;
  }
  if (force) dropped_entries.fetch_add(dropped, std::memory_order_relaxed);
  return dropped == 0;
}

ModelCounts* MemoryQuotaStore::Rep::NewCounts(Shard& shard, const HashedName& name, bool bounded, WallTime now) {
  if (bounded && !models.Take(1)) return nullptr;
  Slot& slot = shard.slots.try_emplace(std::string(name.name)).first->second;
  slot.counts = std::make_unique<ModelCounts>(meters, now);
  slot.bounded = bounded;
  return slot.counts.get();
}

void MemoryQuotaStore::Rep::Unbound(Slot* slot) {
  if (std::exchange(slot->bounded, false)) models.GiveBack(1);
}

void MemoryQuotaStore::Rep::Forget(Slot* slot) {
  slot->counts.reset();
  Unbound(slot);
}

// How many buckets of meters it looked at.
size_t MemoryQuotaStore::Rep::SweepSlot(Slot* slot, WallTime now, size_t buckets) {
  if (!slot->counts) return 0;
  Advance(slot->counts.get(), now);
  const size_t swept = slot->counts->Sweep(now, std::min(buckets, slot->counts->buckets()));
  if (slot->counts->Forgettable()) Forget(slot);
  return swept;
}

// The next buckets of the shard, and as many of the meters of each model there. How many it looked at.
size_t MemoryQuotaStore::Rep::SweepSome(Shard& shard, WallTime now, size_t buckets) {
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

// A part of its meters at a time, so that nobody waits long for the lock.
void MemoryQuotaStore::Rep::SweepModel(Shard& shard, const HashedName& name) {
  size_t buckets = 1;
  for (size_t swept = 0; swept < buckets; swept += kSweptAtOnce) {
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.slots.find(name);
    if (found == shard.slots.end()) return;
    Slot& slot = found->second;
    if (slot.counts) buckets = slot.counts->buckets();
    SweepSlot(&slot, clock.Now(), std::min(buckets, kSweptAtOnce));
    if (slot.counts) continue;
    if (!slot.stated) shard.slots.erase(found);
    return;
  }
}

void MemoryQuotaStore::Rep::SweepAll() {
  std::vector<std::string> names;
  for (Shard& shard : shards) {
    names.clear();
    {
      const std::scoped_lock lock(shard.mutex);
      for (const auto& [name, slot] : shard.slots)
        if (slot.counts) names.push_back(name);
    }
    for (const std::string& name : names) SweepModel(shard, HashedName(name));
  }
}

// A step of a search that goes on with the next who finds no room: all of it would take too long for an I/O thread.
void MemoryQuotaStore::Rep::MakeRoom() {
  size_t left = kSweptForRoom;
  for (size_t i = 0; i < kShards && left > 0; ++i) {
    Shard& shard = shards[next_shard_for_room.fetch_add(1, std::memory_order_relaxed) % kShards];
    const std::scoped_lock lock(shard.mutex);
    left -= std::min(left, SweepSome(shard, clock.Now(), left));
  }
}

MemoryQuotaStore::MemoryQuotaStore(MemoryStoreOptions options, const WallClock& clock)
    : rep_(std::make_unique<Rep>(options, clock)) {}

MemoryQuotaStore::~MemoryQuotaStore() = default;

size_t MemoryQuotaStore::exact_entries() const { return WindowLog::kExactEntries; }

Duration MemoryQuotaStore::granule(Duration window) const { return WindowLog::Granule(window); }

ChargeAnswer MemoryQuotaStore::Run(const Charge& charge) {
  if (!IsAmount(charge.tokens) || !IsAmount(charge.requests)) return Run(CutDown(charge));
  const HashedName name(charge.model);
  ChargeAnswer answer;
  if (rep_->Try(name, charge, false, &answer)) return answer;
  rep_->MakeRoom();
  answer = {};
  rep_->Try(name, charge, true, &answer);
  return answer;
}

SettlementAnswer MemoryQuotaStore::Run(const Settlement& settlement) {
  SettlementAnswer answer{.code = SettlementAnswer::Code::kUnknown};
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return answer;
  std::optional<int64_t> tokens = settlement.tokens;
  if (tokens) tokens = std::clamp<int64_t>(*tokens, 0, kMostAmount);

  const HashedName name(id->model);
  Shard& shard = rep_->ShardOf(name);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.slots.find(name);
  if (found == shard.slots.end() || !found->second.counts) return answer;
  ModelCounts& counts = *found->second.counts;
  const WallTime now = rep_->clock.Now();
  rep_->Advance(&counts, now);
  const std::optional<int64_t> reserved = counts.Settle(id->token, tokens, now);
  if (!reserved) return answer;
  answer.code = SettlementAnswer::Code::kSettled;
  answer.model = id->model;
  answer.reserved_tokens = *reserved;
  answer.actual_tokens = tokens.value_or(0);
  return answer;
}

Status MemoryQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota)
    if (Status status = CheckQuota(model, *quota); !status.ok()) return status;
  const HashedName name(model);
  Shard& shard = rep_->ShardOf(name);
  const std::scoped_lock lock(shard.mutex);
  if (quota) {
    Slot& slot = shard.slots[std::string(model)];
    slot.stated = quota;
    rep_->Unbound(&slot);
  } else if (const auto found = shard.slots.find(name); found != shard.slots.end()) {
    found->second.stated.reset();
    if (!found->second.counts) shard.slots.erase(found);
  }
  return {};
}

Status MemoryQuotaStore::Reset(std::string_view model) {
  for (Shard& shard : rep_->shards) {
    if (!model.empty() && &shard != &rep_->ShardOf(HashedName(model))) continue;
    const std::scoped_lock lock(shard.mutex);
    for (auto& [name, slot] : shard.slots)
      if (model.empty() || name == model) rep_->Forget(&slot);
    std::erase_if(shard.slots, [](const auto& item) { return !item.second.stated && !item.second.counts; });
  }
  return {};
}

Result<std::vector<std::string>> MemoryQuotaStore::Models() {
  std::vector<std::string> models;
  for (Shard& shard : rep_->shards) {
    const std::scoped_lock lock(shard.mutex);
    const WallTime now = rep_->clock.Now();
    for (auto& [name, slot] : shard.slots) {
      if (slot.counts) rep_->Advance(slot.counts.get(), now);
      if (slot.counts && slot.counts->Quiet()) rep_->SweepSlot(&slot, now, slot.counts->buckets());
      if (slot.stated || slot.counts) models.push_back(name);
    }
  }
  std::ranges::sort(models);
  return models;
}

Result<QuotaState> MemoryQuotaStore::Export() {
  QuotaState state;
  for (Shard& shard : rep_->shards) {
    const std::scoped_lock lock(shard.mutex);
    const WallTime now = rep_->clock.Now();
    for (auto& [name, slot] : shard.slots) {
      ModelState model{.quota = slot.stated};
      if (slot.counts) {
        rep_->Advance(slot.counts.get(), now);
        slot.counts->Save(&model);
      }
      if (model != ModelState()) state.emplace(name, std::move(model));
    }
  }
  return state;
}

Status MemoryQuotaStore::Import(const QuotaState& state) {
  size_t counted = 0;
  for (const auto& [model, saved] : state) {
    if (!saved.quota && saved.has_usage()) ++counted;
    if (saved.quota)
      if (Status status = CheckQuota(model, *saved.quota); !status.ok()) return status;
  }
  if (counted > rep_->max_models)
    return Status::Error("usage of " + std::to_string(counted) + " models without a quota, of which " +
                         std::to_string(rep_->max_models) + " may be held; raise max_models");
  std::array<std::unique_lock<std::mutex>, kShards> locks;
  for (size_t i = 0; i < kShards; ++i) locks[i] = std::unique_lock(rep_->shards[i].mutex);
  for (Shard& shard : rep_->shards) {
    for (auto& [name, slot] : shard.slots) rep_->Forget(&slot);
    shard.slots.clear();
  }
  const WallTime now = rep_->clock.Now();
  for (const auto& [model, saved] : state) {
    const HashedName name(model);
    Shard& shard = rep_->ShardOf(name);
    if (saved.quota) shard.slots[model].stated = saved.quota;
    if (!saved.has_usage()) continue;
    if (ModelCounts* counts = rep_->NewCounts(shard, name, !saved.quota, now)) counts->Restore(saved, now);
  }
  return {};
}

void MemoryQuotaStore::Prune() { rep_->SweepAll(); }

StoreHealth MemoryQuotaStore::Health() const {
  return {
      .expired_reservations = rep_->expired_reservations.load(std::memory_order_relaxed),
      .dropped_entries = rep_->dropped_entries.load(std::memory_order_relaxed),
  };
}

}  // namespace weir
