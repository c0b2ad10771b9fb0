#include "throttle/quota/sqlite/sqlite_charge.h"

#include <algorithm>
#include <limits>

#include "throttle/quota/reservation_id.h"

namespace weir {

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

SqliteCharges::Room SqliteCharges::FindRoom(const Charge& charge, const SqliteModel& model,
                                            const std::vector<SqliteTier>& tiers, int64_t now, uint64_t* expired) {
  Room room{.tiers = std::numeric_limits<size_t>::max()};
  const bool enters = charge.requests > 0 || charge.tokens > 0 || charge.holds();
  const bool new_model = !model.known && enters;
  size_t new_tiers = 0;
  for (size_t i = 0; i < tiers.size(); ++i) new_tiers += tiers[i].id == 0 && Needs(charge, tiers[i].unit) ? 1 : 0;
  if (new_tiers > 0) {
    room.tiers = Free(count_tiers_, bounds_.tiers);
    if (room.tiers < new_tiers) {
      sweep_.Tiers(now);
      room.tiers = Free(count_tiers_, bounds_.tiers);
    }
  }
  if (new_model && Free(count_models_, bounds_.models) == 0) {
    sweep_.Tiers(now);
    sweep_.Models(now, expired);
    room.model = Free(count_models_, bounds_.models) > 0;
  }
  room.for_all = room.model && room.tiers >= new_tiers;
  return room;
}

ChargeAnswer SqliteCharges::Run(const Charge& charge, int64_t now, uint64_t* expired) {
  SqliteModel model = models_.Load(charge.model, now, expired);
  std::vector<SqliteTier> tiers;
  tiers.reserve(charge.tiers.size());
  for (const TierCharge& tier : charge.tiers)
    tiers.push_back(models_.tiers.Load(charge.model, tier.key, tier.limit, now));
  ChargeAnswer answer;
  answer.quota = model.quota ? model.quota : charge.default_quota;
  const SqliteVerdict verdict = JudgeSqlite(charge, answer.quota, model, tiers, now, models_);
  answer.code = verdict.code;
  answer.tier = verdict.tier;
  answer.unit = verdict.unit;
  answer.retry_after = verdict.retry_after;

  const bool force = charge.forces();
  const bool passes = verdict.fits() && !(verdict.code == QuotaCode::kUnknownModel && charge.refuse_unknown);
  Room room;
  if (passes || force) room = FindRoom(charge, model, tiers, now, expired);
  if (!room.for_all && verdict.fits()) answer.code = QuotaCode::kTooManyNames;
  const bool takes = charge.mode != Charge::Mode::kPeek && passes && room.for_all;
  if (takes || force) Enter(charge, now, room, &model, &tiers, &answer);
  for (size_t i = 0; i < tiers.size(); ++i) {
    if (tiers[i].id != 0) models_.tiers.Save(charge.model, charge.tiers[i].key, &tiers[i]);
    answer.tiers.push_back({.used = tiers[i].used()});
  }
  answer.usage = model.usage();
  return answer;
}

void SqliteCharges::Enter(const Charge& charge, int64_t now, const Room& room, SqliteModel* model,
                          std::vector<SqliteTier>* tiers, ChargeAnswer* answer) {
  size_t tiers_left = room.tiers;
  SqliteReservation held{.ts = now, .requests = charge.requests, .tokens = charge.tokens};
  for (size_t i = 0; i < tiers->size(); ++i) {
    SqliteTier& tier = (*tiers)[i];
    if (!Needs(charge, tier.unit) || (tier.id == 0 && tiers_left == 0)) continue;
    if (tier.id == 0) {
      // Its entries need its id.
      --tiers_left;
      tier.changed = true;
      models_.tiers.Save(charge.model, charge.tiers[i].key, &tier);
    }
    if (const int64_t amount = AmountOf(charge, tier.unit); amount > 0) models_.tiers.Add(&tier, now, amount);
    held.tiers.push_back(tier.id);
  }
  if (!room.model) return;
  models_.requests.Add(charge.model, now, charge.requests, &model->requests);
  models_.tokens.Add(charge.model, now, charge.tokens, &model->tokens);
  models_.CountDay(charge.model, now, charge.requests, model);
  if (!charge.holds()) return;
  held.id = FormatReservationId(RandomReservationToken(), charge.model);
  held.deadline = now + charge.hold_for.count();
  models_.Hold(charge.model, held);
  ++model->open;
  answer->reservation = std::move(held.id);
}

SettlementAnswer SqliteCharges::Settle(std::string_view model, const Settlement& settlement, int64_t now,
                                       uint64_t* expired) {
  SettlementAnswer answer{.code = SettlementAnswer::Code::kUnknown, .model = std::string(model)};
  SqliteModel state = models_.Load(model, now, expired);
  const std::optional<SqliteReservation> held = models_.Find(settlement.reservation);
  if (!held) return answer;
  const bool refund = !settlement.tokens;
  const int64_t tokens = std::clamp<int64_t>(settlement.tokens.value_or(0), 0, kMostAmount);
  if (refund || tokens < held->tokens)
    models_.GiveBack(model, *held, refund ? held->requests : 0, held->tokens - tokens, now, &state);
  if (tokens > held->tokens) EnterMore(model, *held, tokens - held->tokens, now, &state);
  models_.Forget(model, settlement.reservation);
  answer.code = SettlementAnswer::Code::kSettled;
  answer.reserved_tokens = held->tokens;
  answer.actual_tokens = tokens;
  return answer;
}

void SqliteCharges::EnterMore(std::string_view model, const SqliteReservation& held, int64_t tokens, int64_t now,
                              SqliteModel* state) {
  models_.tokens.Add(model, now, tokens, &state->tokens);
  for (const int64_t id : held.tiers) {
    std::optional<SqliteTier> tier = models_.tiers.Load(id, now);
    if (!tier || tier->unit != Limit::Unit::kTokens) continue;
    models_.tiers.Add(&*tier, now, tokens);
    models_.tiers.Save("", "", &*tier);
  }
}

}  // namespace weir
