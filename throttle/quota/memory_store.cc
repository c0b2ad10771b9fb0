#include "throttle/quota/memory_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "throttle/quota/judge.h"
#include "throttle/quota/memory_shards.h"
#include "throttle/quota/model_counts.h"
#include "throttle/quota/reservation_id.h"

namespace weir {
namespace {

using Shard = MemoryShards::Shard;
using Slot = MemoryShards::Slot;

bool IsAmount(int64_t amount) { return amount >= 0 && amount <= kMostAmount; }

Charge CutDown(Charge charge) {
  charge.tokens = std::clamp<int64_t>(charge.tokens, 0, kMostAmount);
  charge.requests = std::clamp<int64_t>(charge.requests, 0, kMostAmount);
  return charge;
}

bool IsNothing(const Charge& charge) { return charge.requests == 0 && charge.tokens == 0 && !charge.holds(); }

// For Judge. Null: nothing counts yet, so that everything fits which is no more than its limit.
class MemoryCounts {
 public:
  MemoryCounts(const ModelCounts* counts, const std::vector<Meter*>& meters, WallTime now)
      : counts_(counts), meters_(meters), now_(now) {}

  int64_t UsedInDay() const { return counts_ ? counts_->day().count() : 0; }
  Duration UntilDayEnds() const { return counts_ ? counts_->day().UntilEnd(now_) : kDay; }
  int64_t UsedInMinute(Limit::Unit unit) const { return counts_ ? LogOf(unit).used() : 0; }
  Duration UntilMinuteFits(Limit::Unit unit, int64_t amount, int64_t limit) const {
    return counts_ ? LogOf(unit).UntilFits(now_, amount, limit) : kMinute;
  }
  bool TierFits(size_t tier, int64_t amount, const Limit& limit) const {
    return !meters_[tier] || meters_[tier]->Fits(amount, limit);
  }
  Duration UntilTierFits(size_t tier, int64_t amount, const Limit& limit) const {
    return meters_[tier]->UntilFits(now_, amount, limit);
  }

 private:
  const WindowLog& LogOf(Limit::Unit unit) const {
    return unit == Limit::Unit::kRequests ? counts_->requests() : counts_->tokens();
  }

  const ModelCounts* const counts_;
  const std::vector<Meter*>& meters_;
  const WallTime now_;
};

// A charge, while it has the lock of its model's shard.
class Turn {
 public:
  Turn(MemoryShards& shards, Shard& shard, const HashedName& name, const Charge& charge)
      : shards_(shards), shard_(shard), name_(name), charge_(charge), now_(shards.Now()) {}

  // False: there was no room for a name, and nothing is charged. The last try says so, and by force charges what it
  // can.
  bool Run(bool last, ChargeAnswer* answer);
  // Of what was forced: how much had no room.
  size_t dropped() const { return dropped_; }

 private:
  const std::optional<ModelQuota>& FindCounts();
  bool HasRoom() const;
  bool Enter(ChargeAnswer* answer);
  void TellUsage(ChargeAnswer* answer) const;

  MemoryShards& shards_;
  Shard& shard_;
  const HashedName& name_;
  const Charge& charge_;
  const WallTime now_;
  ModelCounts* counts_ = nullptr;
  bool has_quota_ = false;
  bool has_new_names_ = false;
  size_t dropped_ = 0;
};

bool Turn::Run(bool last, ChargeAnswer* answer) {
  const std::optional<ModelQuota>& quota = FindCounts();
  has_quota_ = quota.has_value();
  Judge(charge_, quota, MemoryCounts(counts_, shard_.meters, now_), answer);

  const bool force = charge_.forces();
  const bool fits = answer->fits();
  if (((fits && (quota || !charge_.refuse_unknown)) || force) && !IsNothing(charge_)) {
    bool has_room = HasRoom();
    if (!has_room && !last) return false;
    if (charge_.charges() && (has_room || force)) has_room = Enter(answer);
    if (!has_room && fits) answer->code = QuotaCode::kTooManyNames;
  }
  answer->quota = quota;
  TellUsage(answer);
  if (has_new_names_) shards_.SweepInPassing(shard_, now_);
  return true;
}

// And the meters. The quota that holds for the model.
const std::optional<ModelQuota>& Turn::FindCounts() {
  shard_.meters.clear();
  const auto found = shard_.slots.find(name_);
  if (found != shard_.slots.end()) counts_ = found->second.counts.get();
  if (counts_) {
    shards_.Advance(counts_, now_);
    counts_->FindMeters(charge_.tiers, now_, &shard_.meters);
  } else {
    shard_.meters.resize(charge_.tiers.size());
  }
  return found != shard_.slots.end() && found->second.stated ? found->second.stated : charge_.default_quota;
}

bool Turn::HasRoom() const {
  if (!counts_ && !has_quota_ && !shards_.HasRoomForModel()) return false;
  if (charge_.holds() && counts_ && !counts_->HasRoomToHold()) return false;
  const size_t missing = MissingMeters(charge_, shard_.meters);
  return missing == 0 || shards_.HasRoomForMeters(missing);
}

// False: not all of it could be entered, and nothing was, but by force.
bool Turn::Enter(ChargeAnswer* answer) {
  const bool force = charge_.forces();
  if (!counts_) {
    counts_ = shards_.NewCounts(shard_, name_, !has_quota_, now_);
    has_new_names_ = true;
  }
  size_t dropped = 1;
  if (counts_ && (!charge_.holds() || counts_->HasRoomToHold())) {
    const size_t missing = MissingMeters(charge_, shard_.meters);
    dropped = missing == 0 ? 0 : counts_->MakeMeters(charge_, now_, &shard_.meters);
    if (missing > 0) has_new_names_ = true;
    if (dropped > 0 && !force) return false;
    if (charge_.holds()) {
      const ReservationToken token = shard_.tokens.Next();
      counts_->Enter(charge_, now_, shard_.meters, token);
      answer->reservation = FormatReservationId(token, charge_.model);
    } else {
      counts_->Enter(charge_, now_, shard_.meters);
    }
    answer->charged = true;
  }
  if (force) dropped_ = dropped;
  return dropped == 0;
}

void Turn::TellUsage(ChargeAnswer* answer) const {
  if (counts_) answer->usage = counts_->usage();
  answer->tiers.reserve(charge_.tiers.size());
  for (const Meter* meter : shard_.meters) answer->tiers.push_back({meter ? meter->used() : 0});
}

}  // namespace

struct MemoryQuotaStore::Rep {
  Rep(const MemoryStoreOptions& options, const WallClock& clock)
      : max_models(options.max_models), shards(options.max_models, options.max_tier_keys, clock) {}

  void Run(const Charge& charge, ChargeAnswer* answer);
  bool Try(const HashedName& name, const Charge& charge, bool last, ChargeAnswer* answer);

  const size_t max_models;
  MemoryShards shards;
  std::atomic<uint64_t> dropped_entries{0};
};

void MemoryQuotaStore::Rep::Run(const Charge& charge, ChargeAnswer* answer) {
  const HashedName name(charge.model);
  if (Try(name, charge, false, answer)) return;
  shards.MakeRoom();
  *answer = {};
  Try(name, charge, true, answer);
}

bool MemoryQuotaStore::Rep::Try(const HashedName& name, const Charge& charge, bool last, ChargeAnswer* answer) {
  Shard& shard = shards.Of(name);
  const std::scoped_lock lock(shard.mutex);
  Turn turn(shards, shard, name, charge);
  const bool done = turn.Run(last, answer);
  if (turn.dropped() > 0) dropped_entries.fetch_add(turn.dropped(), std::memory_order_relaxed);
  return done;
}

MemoryQuotaStore::MemoryQuotaStore(MemoryStoreOptions options, const WallClock& clock)
    : rep_(std::make_unique<Rep>(options, clock)) {}

MemoryQuotaStore::~MemoryQuotaStore() = default;

size_t MemoryQuotaStore::exact_entries() const { return WindowLog::kExactEntries; }

Duration MemoryQuotaStore::granule(Duration window) const { return WindowLog::Granule(window); }

// One answer and one return: a move of it costs 4 ns.
ChargeAnswer MemoryQuotaStore::Run(const Charge& charge) {
  ChargeAnswer answer;
  if (IsAmount(charge.tokens) && IsAmount(charge.requests)) {
    rep_->Run(charge, &answer);
  } else {
    rep_->Run(CutDown(charge), &answer);
  }
  return answer;
}

SettlementAnswer MemoryQuotaStore::Run(const Settlement& settlement) {
  SettlementAnswer answer{.code = SettlementAnswer::Code::kUnknown};
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return answer;
  std::optional<int64_t> tokens = settlement.tokens;
  if (tokens) tokens = std::clamp<int64_t>(*tokens, 0, kMostAmount);

  const HashedName name(id->model);
  Shard& shard = rep_->shards.Of(name);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.slots.find(name);
  if (found == shard.slots.end() || !found->second.counts) return answer;
  ModelCounts& counts = *found->second.counts;
  const WallTime now = rep_->shards.Now();
  rep_->shards.Advance(&counts, now);
  const auto settled = counts.Settle(id->token, tokens, now);
  if (!settled) return answer;
  answer.code = SettlementAnswer::Code::kSettled;
  answer.model = id->model;
  answer.reserved_tokens = settled->tokens;
  answer.actual_tokens = tokens.value_or(0);
  answer.time_left = settled->time_left;
  return answer;
}

Status MemoryQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota)
    if (Status status = CheckQuota(model, *quota); !status.ok()) return status;
  const HashedName name(model);
  Shard& shard = rep_->shards.Of(name);
  const std::scoped_lock lock(shard.mutex);
  if (quota) {
    rep_->shards.StateQuota(&shard.slots[std::string(model)], *quota);
  } else if (const auto found = shard.slots.find(name); found != shard.slots.end()) {
    found->second.stated.reset();
    if (!found->second.counts) shard.slots.erase(found);
  }
  return {};
}

Status MemoryQuotaStore::Reset(std::string_view model) {
  for (Shard& shard : rep_->shards.all()) {
    if (!model.empty() && &shard != &rep_->shards.Of(HashedName(model))) continue;
    const std::scoped_lock lock(shard.mutex);
    for (auto& [name, slot] : shard.slots)
      if (model.empty() || name == model) rep_->shards.ForgetCounts(&slot);
    std::erase_if(shard.slots, [](const auto& item) { return !item.second.stated && !item.second.counts; });
  }
  return {};
}

Result<std::vector<std::string>> MemoryQuotaStore::Models() {
  std::vector<std::string> models;
  for (Shard& shard : rep_->shards.all()) {
    const std::scoped_lock lock(shard.mutex);
    const WallTime now = rep_->shards.Now();
    for (auto& [name, slot] : shard.slots) {
      rep_->shards.SweepQuiet(&slot, now);
      if (slot.stated || slot.counts) models.push_back(name);
    }
  }
  std::ranges::sort(models);
  return models;
}

Result<QuotaState> MemoryQuotaStore::Export() {
  QuotaState state;
  for (Shard& shard : rep_->shards.all()) {
    const std::scoped_lock lock(shard.mutex);
    const WallTime now = rep_->shards.Now();
    for (auto& [name, slot] : shard.slots) {
      ModelState model{.quota = slot.stated};
      if (slot.counts) {
        rep_->shards.Advance(slot.counts.get(), now);
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
  std::vector<std::unique_lock<std::mutex>> locks;
  for (Shard& shard : rep_->shards.all()) locks.emplace_back(shard.mutex);
  for (Shard& shard : rep_->shards.all()) {
    for (auto& [name, slot] : shard.slots) rep_->shards.ForgetCounts(&slot);
    shard.slots.clear();
  }
  const WallTime now = rep_->shards.Now();
  for (const auto& [model, saved] : state) {
    const HashedName name(model);
    Shard& shard = rep_->shards.Of(name);
    if (saved.quota) shard.slots[model].stated = saved.quota;
    if (!saved.has_usage()) continue;
    if (ModelCounts* counts = rep_->shards.NewCounts(shard, name, !saved.quota, now)) counts->Restore(saved, now);
  }
  return {};
}

void MemoryQuotaStore::Prune() { rep_->shards.SweepAll(); }

StoreHealth MemoryQuotaStore::Health() const {
  return {
      .expired_reservations = rep_->shards.expired_reservations(),
      .dropped_entries = rep_->dropped_entries.load(std::memory_order_relaxed),
  };
}

}  // namespace weir
