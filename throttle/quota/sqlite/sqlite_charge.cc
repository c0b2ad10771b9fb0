#include "throttle/quota/sqlite/sqlite_charge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "throttle/quota/charge_amounts.h"
#include "throttle/quota/judge.h"
#include "throttle/quota/reservation_id.h"

namespace weir {
namespace {

constexpr int64_t kRoomPauseNs = 1'000'000'000;  // between two searches for room

// For Judge: the rows as the transaction has read them.
class SqliteCounts {
 public:
  SqliteCounts(const Charge& charge, const SqliteModel& model, const SqliteTierRows& tiers, int64_t now,
               SqliteModels& models)
      : charge_(charge), model_(model), tiers_(tiers), now_(now), models_(models) {}

  int64_t UsedInDay() const { return model_.day_count; }
  Duration UntilDayEnds() const { return Duration(model_.day_start - now_) + kDay; }
  int64_t UsedInMinute(Limit::Unit unit) const { return StateOf(unit).sum; }
  Duration UntilMinuteFits(Limit::Unit unit, int64_t amount, int64_t limit) const {
    SqliteLog& log = unit == Limit::Unit::kRequests ? models_.requests : models_.tokens;
    return Duration(log.WhenFreed(charge_.model, StateOf(unit).sum + amount - limit) - now_);
  }
  bool TierFits(size_t tier, int64_t amount, const Limit& limit) const { return tiers_[tier].Fits(amount, limit); }
  Duration UntilTierFits(size_t tier, int64_t amount, const Limit& limit) const {
    return Duration(models_.tiers.WaitFor(tiers_[tier], now_, amount, limit));
  }

 private:
  const SqliteLogState& StateOf(Limit::Unit unit) const {
    return unit == Limit::Unit::kRequests ? model_.requests : model_.tokens;
  }

  const Charge& charge_;
  const SqliteModel& model_;
  const SqliteTierRows& tiers_;
  const int64_t now_;
  SqliteModels& models_;
};

bool AddsAnything(const Charge& charge) { return charge.requests > 0 || charge.tokens > 0 || charge.holds(); }

}  // namespace

SqliteCharges::SqliteCharges(SqliteDatabase& database, SqliteModels& models, SqliteSweep& sweep, SqliteBounds bounds)
    : models_(models),
      sweep_(sweep),
      bounds_(bounds),
      count_models_(database, "SELECT models FROM weir_counts"),
      count_tiers_(database, "SELECT tiers FROM weir_counts") {}

size_t SqliteCharges::Free(SqliteQuery& count, size_t bound) {
  SqliteRows row = count();
  const int64_t used = row.Next() ? row.Int(0) : 0;
  return used < 0 ? bound : bound - std::min(bound, static_cast<size_t>(used));
}

SqliteCharges::Room SqliteCharges::FindRoom(const Charge& charge, bool has_quota, const SqliteModel& model,
                                            const SqliteTierRows& tiers) {
  Room room{.tiers = std::numeric_limits<size_t>::max()};
  size_t new_tiers = 0;
  for (const SqliteTier& tier : tiers.rows()) new_tiers += tier.id == 0 && Needs(charge, tier.unit) ? 1 : 0;
  if (new_tiers > 0) room.tiers = Free(count_tiers_, bounds_.tiers);
  if (!model.known && !has_quota && AddsAnything(charge)) room.model = Free(count_models_, bounds_.models) > 0;
  if (charge.holds() && model.open >= static_cast<int64_t>(kMostOpenReservations)) room.model = false;
  room.for_all = room.model && room.tiers >= new_tiers;
  return room;
}

// A part of the file is searched, once in a while: names that find no room must not cost more than those that do.
bool SqliteCharges::MakeRoom(int64_t now, uint64_t* expired) {
  if (room_made_ && now >= *room_made_ && now - *room_made_ < kRoomPauseNs) return false;
  room_made_ = now;
  sweep_.Tiers(now);
  sweep_.Models(now, expired);
  return true;
}

SqliteTierRows SqliteCharges::LoadTiers(const Charge& charge, int64_t now) {
  SqliteTierRows tiers;
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    const TierCharge& tier = charge.tiers[i];
    const auto same = std::ranges::find_if(charge.tiers.first(i), [&](const TierCharge& other) {
      return other.key == tier.key && other.limit.unit == tier.limit.unit && other.limit.kind == tier.limit.kind &&
             other.limit.per == tier.limit.per;
    });
    const auto before = static_cast<size_t>(same - charge.tiers.begin());
    if (before < i) {
      tiers.AddAgain(before);
    } else {
      tiers.Add(models_.tiers.Load(charge.model, tier.key, tier.limit, now));
    }
  }
  return tiers;
}

void SqliteCharges::SaveTiers(const Charge& charge, SqliteTierRows* tiers) {
  for (size_t i = 0; i < tiers->size(); ++i) {
    SqliteTier& tier = (*tiers)[i];
    if (tier.id != 0) models_.tiers.Save(charge.model, charge.tiers[i].key, &tier);
  }
}

ChargeAnswer SqliteCharges::Run(const Charge& charge, int64_t now, Found* found) {
  SqliteModel model = models_.Load(charge.model, now, &found->expired);
  SqliteTierRows tiers = LoadTiers(charge, now);
  ChargeAnswer answer;
  answer.quota = model.quota ? model.quota : charge.default_quota;
  Judge(charge, answer.quota, SqliteCounts(charge, model, tiers, now, models_), &answer);

  const bool passes = answer.fits() && !(answer.code == QuotaCode::kUnknownModel && charge.refuse_unknown);
  if (passes || charge.forces()) {
    const bool has_quota = answer.quota.has_value();
    Room room = FindRoom(charge, has_quota, model, tiers);
    if (!room.for_all && charge.charges()) {
      SaveTiers(charge, &tiers);
      if (MakeRoom(now, &found->expired)) {
        // Some of them may be forgotten by now.
        tiers = LoadTiers(charge, now);
        model = models_.Load(charge.model, now, &found->expired);
        room = FindRoom(charge, has_quota, model, tiers);
      }
    }
    if (!room.for_all && answer.fits()) answer.code = QuotaCode::kTooManyNames;
    if (charge.charges() && (room.for_all || charge.forces()))
      found->dropped += Enter(charge, now, room, &model, &tiers, &answer);
  }
  SaveTiers(charge, &tiers);
  for (size_t i = 0; i < tiers.size(); ++i) answer.tiers.push_back({.used = tiers[i].used()});
  answer.usage = model.usage();
  return answer;
}

uint64_t SqliteCharges::Enter(const Charge& charge, int64_t now, const Room& room, SqliteModel* model,
                              SqliteTierRows* tiers, ChargeAnswer* answer) {
  if (!AddsAnything(charge)) return 0;
  if (!room.model) return 1;
  if (!model->known && !answer->quota) models_.BeginBounded(charge.model, now);
  uint64_t dropped = 0;
  size_t tiers_left = room.tiers;
  SqliteReservation held{.ts = now, .requests = charge.requests, .tokens = charge.tokens, .day = model->day};
  for (size_t i = 0; i < tiers->size(); ++i) {
    SqliteTier& tier = (*tiers)[i];
    if (!Needs(charge, tier.unit)) continue;
    if (tier.id == 0 && tiers_left == 0) {
      ++dropped;
      continue;
    }
    if (tier.id == 0) {
      // Its entries need its id.
      --tiers_left;
      tier.changed = true;
      models_.tiers.Save(charge.model, charge.tiers[i].key, &tier);
    }
    const int64_t amount = AmountOf(charge, tier.unit);
    const int64_t entry = amount > 0 ? models_.tiers.Add(&tier, now, amount) : 0;
    if (!charge.holds()) continue;
    ++tier.pins;
    tier.changed = true;
    held.tiers.push_back({.tier = tier.id, .entry = entry});
  }
  models_.requests.Add(charge.model, now, charge.requests, &model->requests);
  models_.tokens.Add(charge.model, now, charge.tokens, &model->tokens);
  models_.CountDay(charge.model, now, charge.requests, model);
  answer->charged = true;
  if (!charge.holds()) return dropped;
  held.id = FormatReservationId(RandomReservationToken(), charge.model);
  held.deadline = now + charge.hold_for.count();
  held.request_entry = charge.requests > 0 ? model->requests.number() : 0;
  held.token_entry = charge.tokens > 0 ? model->tokens.number() : 0;
  models_.Hold(charge.model, held);
  ++model->open;
  answer->reservation = std::move(held.id);
  return dropped;
}

SettlementAnswer SqliteCharges::Settle(std::string_view model, const Settlement& settlement, int64_t now,
                                       Found* found) {
  SettlementAnswer answer{.code = SettlementAnswer::Code::kUnknown, .model = std::string(model)};
  SqliteModel state = models_.Load(model, now, &found->expired);
  const std::optional<SqliteReservation> held = models_.Find(settlement.reservation);
  if (!held || held->deadline <= now) return answer;
  const bool refund = !settlement.tokens;
  const int64_t tokens = std::clamp<int64_t>(settlement.tokens.value_or(0), 0, kMostAmount);
  models_.GiveBack(model, *held, refund ? held->requests : 0, std::max<int64_t>(0, held->tokens - tokens), now, &state);
  if (tokens > held->tokens) EnterMore(model, *held, tokens - held->tokens, now, &state);
  models_.Forget(model, settlement.reservation);
  answer.code = SettlementAnswer::Code::kSettled;
  answer.reserved_tokens = held->tokens;
  answer.actual_tokens = tokens;
  answer.time_left = Duration(held->deadline - now);
  return answer;
}

void SqliteCharges::EnterMore(std::string_view model, const SqliteReservation& held, int64_t tokens, int64_t now,
                              SqliteModel* state) {
  models_.tokens.Add(model, now, tokens, &state->tokens);
  for (const auto& [id, entry] : held.tiers) {
    std::optional<SqliteTier> tier = models_.tiers.Load(id, now);
    if (!tier || tier->unit != Limit::Unit::kTokens) continue;
    (void)models_.tiers.Add(&*tier, now, tokens);
    models_.tiers.Save("", "", &*tier);
  }
}

}  // namespace weir
