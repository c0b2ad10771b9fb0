#include "throttle/limits/quota/memory_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "config/mutex.h"
#include "throttle/limits/quota/judge.h"
#include "throttle/limits/quota/memory_shards.h"
#include "throttle/limits/quota/model_counts.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

using Shard = MemoryShards::Shard;
using Slot = MemoryShards::Slot;

bool IsAmount(int64_t amount) { return amount >= 0 && amount <= kMostAmount; }

Charge CutDown(Charge charge) {
  charge.tokens = std::clamp<int64_t>(charge.tokens, 0, kMostAmount);
  charge.requests = std::clamp<int64_t>(charge.requests, 0, kMostAmount);
  charge.money = std::clamp<int64_t>(charge.money, 0, kMostAmount);
  return charge;
}

bool IsNothing(const Charge& charge) { return charge.requests == 0 && charge.tokens == 0 && !charge.holds(); }

// The counters for Judge. If `counts` is null, nothing counts for the model yet, so every amount that is not above the
// limit of the model's quota fits it.
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

// Runs one charge. The caller must hold the mutex of the model's shard as long as this object exists.
class ChargeTurn {
 public:
  ChargeTurn(MemoryShards& shards, Shard& shard, const HashedName& name, const Charge& charge)
      WEIR_REQUIRES(shard.mutex)
      : shards_(shards), shard_(shard), name_(name), charge_(charge), now_(shards.Now()) {}

  // Returns false, and charges nothing, if there is no room for a name and this is not the last try. The last try
  // reports the lack of room in `answer`; if the charge is forced, it charges the parts for which there is room.
  // Unchecked, because the analysis does not know that `shard_` is the shard that the caller has locked.
  bool Run(bool last, ChargeAnswer* answer) WEIR_UNCHECKED_LOCKS;
  // Returns the number of parts of a forced charge for which there was no room.
  size_t dropped() const { return dropped_; }

 private:
  const std::optional<ModelQuota>& FindCounts() WEIR_REQUIRES(shard_.mutex);
  // Returns true, and fills `answer`, if the charge asks for a reservation that was made before.
  bool WasMade(ChargeAnswer* answer);
  bool Decide(const std::optional<ModelQuota>& quota, bool last, ChargeAnswer* answer) WEIR_REQUIRES(shard_.mutex);
  bool HasRoom() const WEIR_REQUIRES(shard_.mutex);
  bool Enter(ChargeAnswer* answer) WEIR_REQUIRES(shard_.mutex);
  void TellUsage(ChargeAnswer* answer) const WEIR_REQUIRES(shard_.mutex);
  // These two are unchecked, because the analysis does not see across_lock_, which only some charges lock. The others
  // do not use what Across returns.
  ModelCounts& Across() const WEIR_UNCHECKED_LOCKS { return shards_.across(); }
  void NoteDue() const WEIR_UNCHECKED_LOCKS {
    if (across_lock_.owns_lock()) shards_.NoteDue(charge_.model, *counts_);
  }

  MemoryShards& shards_;
  Shard& shard_;
  const HashedName& name_;
  const Charge& charge_;
  const WallTime now_;
  ModelCounts* counts_ = nullptr;
  bool has_quota_ = false;
  bool has_new_names_ = false;
  size_t dropped_ = 0;
  std::unique_lock<Mutex> across_lock_;
};

bool ChargeTurn::Run(bool last, ChargeAnswer* answer) {
  const std::optional<ModelQuota>& quota = FindCounts();
  has_quota_ = quota.has_value();
  const bool was_made = charge_.token != nullptr && WasMade(answer);
  if (!was_made && !Decide(quota, last, answer)) return false;
  answer->quota = quota;
  TellUsage(answer);
  if (across_lock_.owns_lock()) across_lock_.unlock();
  if (has_new_names_) shards_.SweepInPassing(shard_, now_);
  return true;
}

bool ChargeTurn::WasMade(ChargeAnswer* answer) {
  const Hold* made = charge_.holds() && counts_ != nullptr ? counts_->FindMade(*charge_.token) : nullptr;
  if (made == nullptr) return false;
  answer->again = {.tokens = made->charged.tokens};
  answer->reservation = FormatReservationId(*charge_.token, charge_.model, made->round);
  return true;
}

bool ChargeTurn::Decide(const std::optional<ModelQuota>& quota, bool last, ChargeAnswer* answer) {
  Judge(charge_, quota, MemoryCounts(counts_, shard_.meters, now_), answer);
  const bool force = charge_.forces();
  const bool fits = answer->fits();
  if (((fits && (quota || !charge_.refuse_unknown)) || force) && !IsNothing(charge_)) {
    bool has_room = HasRoom();
    if (!has_room && !last && charge_.may_name) return false;
    if (charge_.charges() && (has_room || force)) has_room = Enter(answer);
    if (has_new_names_ || !has_room) answer->nearly_full = shards_.NearlyFull();
    if (!has_room && fits) answer->code = QuotaCode::kTooManyNames;
  }
  return true;
}

// Finds the counters of the model and the meters of the tiers. Returns the quota that applies to the model.
const std::optional<ModelQuota>& ChargeTurn::FindCounts() {
  shard_.meters.clear();
  const auto found = shard_.slots.find(name_);
  if (found != shard_.slots.end()) counts_ = found->second.counts.get();
  if (counts_) shards_.Advance(counts_, now_);
  if (counts_ && charge_.token != nullptr) counts_->ForgetEnded();
  // Locked until the charge is done, because counters across models are checked together with the model's.
  if (std::ranges::any_of(charge_.tiers, &TierCharge::of_all_models))
    across_lock_ = std::unique_lock(shards_.across_mutex());
  for (const TierCharge& tier : charge_.tiers) {
    ModelCounts* counts = tier.of_all_models ? &Across() : counts_;
    shard_.meters.push_back(counts != nullptr ? counts->FindMeter(tier, now_) : nullptr);
  }
  if (found == shard_.slots.end()) return charge_.default_quota;
  if (found->second.stated) return found->second.stated;
  // Import did not know of this quota.
  if (charge_.default_quota) shards_.GiveUpPlace(&found->second);
  return charge_.default_quota;
}

bool ChargeTurn::HasRoom() const {
  if (!counts_ && !has_quota_ && !(charge_.may_name && shards_.HasRoomForModel())) return false;
  if (charge_.holds()) {
    if (counts_ ? !counts_->HasRoomToHold() : !shards_.HasRoomForHold()) return false;
    if (!charge_.may_name && shards_.NearlyFullOfHolds()) return false;
  }
  const size_t missing = MissingMeters(charge_, shard_.meters);
  return missing == 0 || (charge_.may_name && shards_.HasRoomForMeters(missing));
}

// Charges the amounts. Returns false if there is not enough room; then nothing was charged, unless the charge is
// forced.
bool ChargeTurn::Enter(ChargeAnswer* answer) {
  const bool force = charge_.forces();
  if (!counts_) {
    const bool bounded = !has_quota_;
    if (charge_.may_name || !bounded) counts_ = shards_.NewCounts(shard_, name_, bounded, now_);
    has_new_names_ = true;
    answer->new_names += counts_ && bounded ? 1 : 0;
  }
  size_t dropped = 1;
  if (counts_ && (!charge_.holds() || counts_->HasRoomToHold())) {
    const size_t missing = MissingMeters(charge_, shard_.meters);
    dropped = missing;
    if (missing > 0) {
      if (charge_.may_name) dropped = counts_->MakeMeters(charge_, now_, Across(), &shard_.meters);
      answer->new_names += static_cast<uint32_t>(missing - dropped);
      has_new_names_ = true;
    }
    if (dropped > 0 && !force) return false;
    if (charge_.holds()) {
      // The reservation then counts as a new name, so that NamingShares can refuse a party that makes too many.
      if (shards_.NearlyFullOfHolds()) ++answer->new_names, has_new_names_ = true;
      const ReservationToken token = charge_.token ? *charge_.token : shard_.tokens.Next();
      const uint32_t round = counts_->Enter(charge_, now_, shard_.meters, token);
      NoteDue();
      answer->reservation = FormatReservationId(token, charge_.model, round);
    } else {
      counts_->Enter(charge_, now_, shard_.meters);
    }
    answer->charged = true;
  }
  if (force) dropped_ = dropped;
  return dropped == 0;
}

void ChargeTurn::TellUsage(ChargeAnswer* answer) const {
  if (counts_) answer->usage = counts_->usage();
  answer->tiers.reserve(charge_.tiers.size());
  for (const Meter* meter : shard_.meters) answer->tiers.push_back({meter ? meter->used() : 0});
}

}  // namespace

MemoryQuotaStore::MemoryQuotaStore(MemoryStoreOptions options, const WallClock& clock)
    : clock_(clock), shards_(std::make_unique<MemoryShards>(options, clock)) {}

MemoryQuotaStore::~MemoryQuotaStore() = default;

size_t MemoryQuotaStore::exact_entries() const { return WindowLog::kExactEntries; }

Duration MemoryQuotaStore::granule(Duration window) const { return WindowLog::Granule(window); }

// Makes room and tries a second time if the first try found no room for a name.
void MemoryQuotaStore::Decide(const Charge& charge, ChargeAnswer* answer) {
  const HashedName name(charge.model);
  Shard& shard = shards_->Of(name);
  if (std::ranges::any_of(charge.tiers, &TierCharge::of_all_models)) shards_->ExpireAcross();
  for (bool last : {false, true}) {
    {
      const MutexLock lock(shard.mutex);
      ChargeTurn turn(*shards_, shard, name, charge);
      const bool done = turn.Run(last, answer);
      if (turn.dropped() > 0) dropped_entries_.fetch_add(turn.dropped(), std::memory_order_relaxed);
      if (done) return;
    }
    shards_->MakeRoom();
    *answer = {};
  }
}

// Uses one answer from the beginning to the end, because moving an answer costs 4 ns.
ChargeAnswer MemoryQuotaStore::Run(const Charge& charge) {
  ChargeAnswer answer;
  if (IsAmount(charge.tokens) && IsAmount(charge.requests) && IsAmount(charge.money)) {
    Decide(charge, &answer);
  } else {
    Decide(CutDown(charge), &answer);
  }
  return answer;
}

SettlementAnswer MemoryQuotaStore::Run(const Settlement& settlement) {
  SettlementAnswer answer{.code = SettlementAnswer::Code::kUnknown};
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return answer;
  answer.model = id->model;
  Settlement cut_down = settlement;
  if (cut_down.tokens) cut_down.tokens = std::clamp<int64_t>(*cut_down.tokens, 0, kMostAmount);
  cut_down.money = std::clamp<int64_t>(cut_down.money, 0, kMostAmount);

  const HashedName name(id->model);
  Shard& shard = shards_->Of(name);
  const MutexLock lock(shard.mutex);
  const auto found = shard.slots.find(name);
  if (found != shard.slots.end() && found->second.counts)
    shards_->Settle(found->second.counts.get(), *id, cut_down, &answer);
  return answer;
}

Status MemoryQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota)
    if (Status status = CheckQuota(model, *quota); !status.ok()) return status;
  Set(model, quota, false);
  return {};
}

Status MemoryQuotaStore::StateQuota(std::string_view model, const ModelQuota& quota) {
  if (Status status = CheckQuota(model, quota); !status.ok()) return status;
  Set(model, quota, true);
  return {};
}

void MemoryQuotaStore::Set(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration) {
  const HashedName name(model);
  Shard& shard = shards_->Of(name);
  const MutexLock lock(shard.mutex);
  if (quota) {
    Slot& slot = shard.slots[std::string(model)];
    shards_->StateQuota(&slot, *quota);
    slot.by_configuration = by_configuration;
  } else if (const auto found = shard.slots.find(name); found != shard.slots.end()) {
    found->second.stated.reset();
    found->second.by_configuration = false;
    if (!found->second.counts) shard.slots.erase(found);
  }
}

Result<std::vector<std::string>> MemoryQuotaStore::StatedByConfiguration() {
  std::vector<std::string> models;
  for (Shard& shard : shards_->all()) {
    const MutexLock lock(shard.mutex);
    for (const auto& [name, slot] : shard.slots)
      if (slot.by_configuration) models.push_back(name);
  }
  std::ranges::sort(models);
  return models;
}

Status MemoryQuotaStore::Reset(std::string_view model) {
  if (model.empty()) {
    const std::vector<std::unique_lock<Mutex>> locks = shards_->LockAll();
    shards_->ForgetAll();
    return {};
  }
  const HashedName name(model);
  Shard& shard = shards_->Of(name);
  const MutexLock lock(shard.mutex);
  const auto found = shard.slots.find(name);
  if (found == shard.slots.end()) return {};
  if (ModelCounts* counts = found->second.counts.get()) {
    shards_->Advance(counts, shards_->Now());
    counts->GiveBackAll();
  }
  shards_->ForgetCounts(&found->second);
  if (!found->second.stated) shard.slots.erase(found);
  return {};
}

Result<std::vector<std::string>> MemoryQuotaStore::Models() {
  std::vector<std::string> models;
  for (Shard& shard : shards_->all()) {
    const MutexLock lock(shard.mutex);
    const WallTime now = shards_->Now();
    for (auto& [name, slot] : shard.slots) {
      shards_->SweepQuiet(&slot, now);
      if (slot.stated || (slot.counts && slot.counts->CountsAnything())) models.push_back(name);
    }
  }
  std::ranges::sort(models);
  return models;
}

Result<QuotaState> MemoryQuotaStore::Export() {
  QuotaState state;
  for (Shard& shard : shards_->all()) {
    const MutexLock lock(shard.mutex);
    const WallTime now = shards_->Now();
    for (auto& [name, slot] : shard.slots) {
      ModelState model{.quota = slot.stated, .by_configuration = slot.by_configuration};
      if (slot.counts) {
        shards_->Advance(slot.counts.get(), now);
        slot.counts->Save(&model);
      }
      if (model != ModelState()) state.emplace(name, std::move(model));
    }
  }
  return state;
}

// Unchecked, because the analysis does not see the locks of LockAll.
Status MemoryQuotaStore::Import(const QuotaState& state) WEIR_UNCHECKED_LOCKS {
  for (const auto& [model, saved] : state)
    if (saved.quota)
      if (Status status = CheckQuota(model, *saved.quota); !status.ok()) return status;
  const std::vector<std::unique_lock<Mutex>> locks = shards_->LockAll();
  shards_->ForgetAll();
  for (Shard& shard : shards_->all()) shard.slots.clear();
  const WallTime now = shards_->Now();
  for (const auto& [model, saved] : state) {
    const HashedName name(model);
    Shard& shard = shards_->Of(name);
    if (saved.quota) {
      Slot& slot = shard.slots[model];
      slot.stated = saved.quota;
      slot.by_configuration = saved.by_configuration;
    }
    if (saved.has_usage()) shards_->AddCounts(shard, name, !saved.quota, now).Restore(saved, now);
  }
  return {};
}

void MemoryQuotaStore::Prune() { shards_->SweepAll(); }

StoreHealth MemoryQuotaStore::Health() const {
  return {
      .warning = std::string(shards_->NearlyFullOfHolds()                    ? kNearlyFullOfHoldsWarning
                             : shards_->NearlyFull()                         ? kNearlyFullWarning
                             : LostNamesOfLate(shards_->name_lost(), clock_) ? kNamesLostWarning
                                                                             : std::string_view()),
      .expired_reservations = shards_->expired_reservations(),
      .dropped_entries = dropped_entries_.load(std::memory_order_relaxed),
  };
}

}  // namespace weir
