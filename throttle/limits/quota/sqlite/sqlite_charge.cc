#include "throttle/limits/quota/sqlite/sqlite_charge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "throttle/limits/quota/charge_amounts.h"
#include "throttle/limits/quota/judge.h"
#include "throttle/limits/quota/nearly_full.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

constexpr int64_t kRoomPauseNs = 1'000'000'000;  // between two searches for room

// The counters for Judge: the rows as the transaction has read them.
class SqliteCounts {
 public:
  SqliteCounts(const SqliteModel& model, const SqliteTierMeters& tiers, int64_t now, SqliteMeters& meters)
      : model_(model), tiers_(tiers), now_(now), meters_(meters) {}

  int64_t UsedInDay() const { return model_.day.count(); }
  Duration UntilDayEnds() const { return model_.day.UntilEnd(SqliteTime(now_)); }
  int64_t UsedInMinute(Limit::Unit unit) const { return OfMinute(unit).used(); }
  Duration UntilMinuteFits(Limit::Unit unit, int64_t amount, int64_t limit) const {
    return meters_.UntilFits(OfMinute(unit), now_, amount, {.amount = limit});
  }
  bool TierFits(size_t tier, int64_t amount, const Limit& limit) const { return tiers_[tier].Fits(amount, limit); }
  Duration UntilTierFits(size_t tier, int64_t amount, const Limit& limit) const {
    return meters_.UntilFits(tiers_[tier], now_, amount, limit);
  }

 private:
  const SqliteMeter& OfMinute(Limit::Unit unit) const {
    return unit == Limit::Unit::kRequests ? model_.requests : model_.tokens;
  }

  const SqliteModel& model_;
  const SqliteTierMeters& tiers_;
  const int64_t now_;
  SqliteMeters& meters_;
};

// Returns the model name under which a tier's counter is stored. For a counter of all models this is the empty name,
// which no model has.
std::string_view ModelOf(const Charge& charge, size_t tier) {
  return charge.tiers[tier].of_all_models ? std::string_view("") : charge.model;  // a null view would be NULL
}

uint32_t RoundOf(std::string_view id) {
  const std::optional<ReservationId> parsed = ParseReservationId(id);
  return parsed ? parsed->round : 0;
}

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
                                            const SqliteTierMeters& tiers) {
  Room room{.tiers = std::numeric_limits<size_t>::max()};
  size_t new_tiers = 0;
  for (const SqliteMeter& tier : tiers.each()) new_tiers += !tier.has_row() && Needs(charge, tier.unit()) ? 1 : 0;
  const auto look = [&](SqliteQuery& count, size_t bound) {
    const size_t free = Free(count, bound);
    room.fullness = std::max(room.fullness, 1 - (static_cast<double>(free) - 1) / static_cast<double>(bound));
    return charge.may_name ? free : 0;
  };
  if (new_tiers > 0) room.tiers = look(count_tiers_, bounds_.tiers);
  if (!model.row.known && !has_quota && AddsAnything(charge)) room.model = look(count_models_, bounds_.models) > 0;
  if (charge.holds() && model.row.open >= static_cast<int64_t>(kMostOpenReservations)) room.model = false;
  room.for_all = room.model && room.tiers >= new_tiers;
  return room;
}

// Sweeps a part of the file, at most once in kRoomPauseNs, so that a charge that finds no room does not cost more than
// others.
bool SqliteCharges::MakeRoom(int64_t now, uint64_t* expired) {
  if (room_made_ && now >= *room_made_ && now - *room_made_ < kRoomPauseNs) return false;
  room_made_ = now;
  sweep_.Tiers(now);
  sweep_.Models(now, expired);
  return true;
}

SqliteTierMeters SqliteCharges::LoadTiers(const Charge& charge, int64_t now) {
  SqliteTierMeters tiers;
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    const TierCharge& tier = charge.tiers[i];
    const auto same = std::ranges::find_if(charge.tiers.first(i), [&](const TierCharge& other) {
      return other.key == tier.key && other.of_all_models == tier.of_all_models &&
             other.limit.unit == tier.limit.unit && other.limit.kind == tier.limit.kind &&
             other.limit.per == tier.limit.per;
    });
    const auto before = static_cast<size_t>(same - charge.tiers.begin());
    if (before < i) {
      tiers.AddAgain(before);
    } else {
      tiers.Add(models_.meters.Load(ModelOf(charge, i), tier.key, tier.limit, now));
    }
  }
  return tiers;
}

void SqliteCharges::Save(SqliteModel* model, SqliteTierMeters* tiers) {
  for (SqliteMeter& tier : tiers->each())
    if (tier.has_row()) models_.meters.Save(&tier);
  models_.Save(model);
}

ChargeAnswer SqliteCharges::Run(const Charge& charge, int64_t now, Found* found) {
  if (std::ranges::any_of(charge.tiers, &TierCharge::of_all_models)) models_.ExpireDue(now, &found->expired);
  SqliteModel model = models_.Load(charge.model, now, &found->expired);
  if (charge.token) models_.ForgetEnded(charge.model, now);  // before LoadTiers reads the counters that this unpins
  SqliteTierMeters tiers = LoadTiers(charge, now);
  ChargeAnswer answer;
  answer.quota = model.quota ? model.quota : charge.default_quota;
  if (answer.quota && model.row.bounded) {
    models_.GiveUpPlace(charge.model);
    model.row.bounded = false;
  }
  if (charge.holds() && charge.token && FindMade(charge, now, &answer)) {
    Save(&model, &tiers);
    TellUsage(model, tiers, &answer);
    return answer;
  }
  Judge(charge, answer.quota, SqliteCounts(model, tiers, now, models_.meters), &answer);

  const bool passes = answer.fits() && !(answer.code == QuotaCode::kUnknownModel && charge.refuse_unknown);
  if (passes || charge.forces()) {
    const bool has_quota = answer.quota.has_value();
    Room room = FindRoom(charge, has_quota, model, tiers);
    if (!room.for_all && charge.charges() && charge.may_name) {
      Save(&model, &tiers);
      if (MakeRoom(now, &found->expired)) {
        // MakeRoom may have deleted some of these counters. Load, which may expire reservations, comes before
        // LoadTiers, which reads the counters that this releases.
        model = models_.Load(charge.model, now, &found->expired);
        tiers = LoadTiers(charge, now);
        room = FindRoom(charge, has_quota, model, tiers);
      }
    }
    found->fullness = room.fullness;
    if (room.fullness >= 0) answer.nearly_full = room.fullness >= kNearlyFull;
    if (!room.for_all && answer.fits()) answer.code = QuotaCode::kTooManyNames;
    if (charge.charges() && (room.for_all || charge.forces()))
      found->dropped += Enter(charge, now, room, &model, &tiers, &answer);
  }
  Save(&model, &tiers);
  TellUsage(model, tiers, &answer);
  return answer;
}

void SqliteCharges::TellUsage(const SqliteModel& model, const SqliteTierMeters& tiers, ChargeAnswer* answer) {
  for (size_t i = 0; i < tiers.size(); ++i) answer->tiers.push_back({.used = tiers[i].used()});
  answer->usage = model.usage();
}

bool SqliteCharges::FindMade(const Charge& charge, int64_t now, ChargeAnswer* answer) {
  if (const std::optional<SqliteReservation> open = models_.Find(*charge.token, charge.model)) {
    answer->again = {.tokens = open->charged.tokens};
    answer->reservation = open->id;
    return true;
  }
  const std::optional<SqliteEnded> ended = models_.FindEnded(*charge.token, charge.model, now);
  if (!ended || ended->end.as_if_never()) return false;
  answer->again = {.tokens = ended->tokens};
  answer->reservation = ended->id;
  return true;
}

uint64_t SqliteCharges::Enter(const Charge& charge, int64_t now, const Room& room, SqliteModel* model,
                              SqliteTierMeters* tiers, ChargeAnswer* answer) {
  if (!AddsAnything(charge)) return 0;
  if (!room.model) return 1;
  if (!model->row.known && !answer->quota) {
    model->row.bounded = true;
    ++answer->new_names;
  }
  model->row.known = true;
  uint64_t dropped = 0;
  size_t tiers_left = room.tiers;
  SqliteReservation held{.ts = now, .named = charge.token != nullptr, .charged = AmountsOf(charge)};
  held.day = static_cast<int64_t>(model->day.day());
  for (size_t i = 0; i < tiers->size(); ++i) {
    SqliteMeter& tier = (*tiers)[i];
    if (!Needs(charge, tier.unit())) continue;
    if (!tier.has_row() && tiers_left == 0) {
      ++dropped;
      continue;
    }
    if (!tier.has_row()) {
      --tiers_left;
      ++answer->new_names;
      models_.meters.Save(&tier);
    }
    const int64_t entry = models_.meters.Add(&tier, now, held.charged.Of(tier.unit()));
    if (!charge.holds()) continue;
    tier.Pin();
    held.tiers.push_back({.meter = tier.id(), .entry = entry});
  }
  held.request_entry = models_.meters.Add(&model->requests, now, charge.requests);
  held.token_entry = models_.meters.Add(&model->tokens, now, charge.tokens);
  if (charge.requests > 0) (void)model->day.Add(SqliteTime(now), charge.requests);
  answer->charged = true;
  if (!charge.holds()) return dropped;
  std::optional<SqliteEnded> refunded;
  if (charge.token) refunded = models_.FindEnded(*charge.token, charge.model, now);
  if (refunded) models_.ForgetEnd(refunded->id);
  held.id = FormatReservationId(charge.token ? *charge.token : RandomReservationToken(), charge.model,
                                refunded ? RoundOf(refunded->id) + 1 : 0);
  held.deadline = now + charge.hold_for.count();
  models_.Hold(model, held);
  answer->reservation = std::move(held.id);
  return dropped;
}

SettlementAnswer SqliteCharges::Settle(const ReservationId& id, const Settlement& settlement, int64_t now,
                                       Found* found) {
  SettlementAnswer answer{.code = SettlementAnswer::Code::kUnknown, .model = id.model};
  SqliteModel model = models_.Load(id.model, now, &found->expired);
  std::optional<SqliteReservation> held = models_.Find(id.token, id.model);
  if (held && held->deadline <= now) {
    models_.Expire(&model, *held, now);
    ++found->expired;
    held.reset();
  }
  std::optional<SqliteEnded> ended;
  if (!held) ended = models_.FindEnded(id.token, id.model, now);
  if (held || ended) {
    const uint32_t round = RoundOf(held ? held->id : ended->id);
    if (id.round < round) {
      answer.reserved_tokens = held ? held->charged.tokens : ended->tokens;
      HoldEnd::OfEarlierRound().AnswerTo(settlement, &answer);
    } else if (id.round == round) {
      held ? SettleOpen(&model, *held, settlement, now, &answer)
           : SettleEnded(&model, *ended, settlement, now, &answer);
    }
  }
  models_.Save(&model);
  models_.ForgetEnded(id.model, now);
  return answer;
}

void SqliteCharges::SettleOpen(SqliteModel* model, const SqliteReservation& held, const Settlement& settlement,
                               int64_t now, SettlementAnswer* answer) {
  answer->code = SettlementAnswer::Code::kSettled;
  answer->reserved_tokens = held.charged.tokens;
  answer->time_left = Duration(held.deadline - now);
  const auto cut_down = [](int64_t amount) { return std::clamp<int64_t>(amount, 0, kMostAmount); };
  const Amounts used = {.tokens = std::max(held.used.tokens, cut_down(settlement.tokens.value_or(0))),
                        .money = std::max(held.used.money, settlement.tokens ? cut_down(settlement.money) : 0)};
  answer->actual_tokens = used.tokens;
  if (const Amounts more = UseBeyond(held.charged, held.used, used); more != Amounts())
    models_.EnterMore(model, held.tiers, more, now);
  if (settlement.extend) {
    if (used != held.used) models_.NoteUse(held.id, used);
    if (*settlement.extend > answer->time_left) models_.Extend(held.id, now + settlement.extend->count());
    return;
  }
  answer->refunded = !settlement.tokens;
  models_.GiveBack(model, held, UnusedOf(held.charged, used, !answer->refunded), now);
  models_.Forget(model, held.id);
  EndAs(*model,
        {.id = held.id,
         .named = held.named,
         .requests = held.charged.requests,
         .tokens = held.charged.tokens,
         .tiers = held.tiers},
        now, *answer);
}

void SqliteCharges::SettleEnded(SqliteModel* model, const SqliteEnded& ended, const Settlement& settlement, int64_t now,
                                SettlementAnswer* answer) {
  answer->reserved_tokens = ended.tokens;
  if (!ended.end.AnswerTo(settlement, answer)) return;
  answer->actual_tokens = std::max(answer->actual_tokens, ended.used.tokens);
  if (!answer->refunded) {
    models_.EnterMore(model, ended.tiers,
                      {.requests = ended.requests,
                       .tokens = answer->actual_tokens - ended.used.tokens,
                       .money = std::min(settlement.money, kMostAmount) - ended.used.money},
                      now);
  }
  EndAs(*model, ended, now, *answer);
}

void SqliteCharges::EndAs(const SqliteModel& model, SqliteEnded ended, int64_t now, const SettlementAnswer& answer) {
  models_.LetGo(ended.tiers, now);
  ended.tiers.clear();
  ended.end = HoldEnd::Of(answer);
  ended.kept_until = now + (ended.named ? kExpiredKept : kSettledKept).count();
  models_.End(model.name, ended);
}

}  // namespace weir
