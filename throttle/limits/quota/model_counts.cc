#include "throttle/limits/quota/model_counts.h"

#include <algorithm>

#include "throttle/limits/quota/charge_amounts.h"

namespace weir {
size_t MissingMeters(const Charge& charge, const std::vector<Meter*>& meters) {
  size_t missing = 0;
  for (size_t i = 0; i < meters.size(); ++i)
    if (!meters[i] && Needs(charge, charge.tiers[i].limit.unit)) ++missing;
  return missing;
}

size_t ModelCounts::Advance(WallTime now) {
  requests_.Advance(now);
  tokens_.Advance(now);
  day_.Advance(now);
  if (now < now_) holds_.PullBack(now);
  now_ = now;
  size_t expired = 0;
  for (; expired < kMostExpiredAtOnce; ++expired) {
    std::optional<OpenHolds::Item> item = holds_.TakeExpired(now);
    if (!item) break;
    Expire(item->first, std::move(item->second));
  }
  if (expired > 0) ForgetEnded();
  return expired;
}

ModelCounts::~ModelCounts() {
  holds_.ForEach([this](const Hold& hold) { Unpin(hold); });
  for (const EndedHolds* ended : {&ended_, &named_ended_}) ended->ForEach([this](const Hold& hold) { Unpin(hold); });
  bounds_.meters.GiveBack(meters_.size());
}

Meter* ModelCounts::FindMeter(const TierCharge& tier, WallTime now) {
  const auto found = meters_.find(MeterKeyView(tier));
  if (found == meters_.end()) return nullptr;
  found->second.Advance(now);
  found->second.Follow(tier.limit);
  return &found->second;
}

size_t ModelCounts::MakeMeters(const Charge& charge, WallTime now, ModelCounts& across, std::vector<Meter*>* meters) {
  size_t missing = 0;
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    const TierCharge& tier = charge.tiers[i];
    if ((*meters)[i] || !Needs(charge, tier.limit.unit)) continue;
    if (!bounds_.meters.Take(1)) {
      ++missing;
      continue;
    }
    ModelCounts& counts = tier.of_all_models ? across : *this;
    const auto [made, fresh] =
        counts.meters_.try_emplace(MeterKey(MeterKeyView(tier)), tier.limit, now, &bounds_.entry_bytes);
    if (!fresh) bounds_.meters.GiveBack(1);
    (*meters)[i] = &made->second;
  }
  return missing;
}

void ModelCounts::Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters) {
  EnterParts(charge, now, meters, nullptr);
}

uint32_t ModelCounts::Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters,
                            const ReservationToken& token) {
  const bool named = charge.token != nullptr;
  const EndedHolds::Ended* refunded = named ? named_ended_.Find(token, now) : nullptr;
  const uint32_t round = refunded != nullptr ? refunded->hold.round + 1 : 0;
  Hold hold{.deadline = now + charge.hold_for,
            .hold_for = charge.hold_for,
            .named = named,
            .round = round,
            .charged = AmountsOf(charge)};
  EnterParts(charge, now, meters, &hold);
  holds_.Add(token, std::move(hold));
  return round;
}

void ModelCounts::EnterParts(const Charge& charge, WallTime now, const std::vector<Meter*>& meters, Hold* hold) {
  if (charge.requests > 0) {
    const WindowLog::Ref ref = requests_.Add(now, charge.requests);
    const DayCount::Ref day = day_.Add(now, charge.requests);
    if (hold != nullptr) hold->request_ref = ref, hold->day = day;
  }
  if (charge.tokens > 0) {
    const WindowLog::Ref ref = tokens_.Add(now, charge.tokens);
    if (hold != nullptr) hold->token_ref = ref;
  }
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    const Limit::Unit unit = charge.tiers[i].limit.unit;
    Meter* meter = meters[i];
    if (!meter) continue;
    const int64_t amount = AmountOf(charge, unit);
    const WindowLog::Ref ref = amount > 0 ? meter->Add(now, amount) : 0;
    if (hold == nullptr) continue;
    meter->Pin();
    hold->tiers.push_back({meter, unit, ref, charge.tiers[i].of_all_models});
  }
}

size_t ModelCounts::Settle(const ReservationId& id, const Settlement& settlement, WallTime now,
                           SettlementAnswer* answer) {
  const ReservationToken& token = id.token;
  size_t expired = 0;
  const Hold* open = holds_.Find(token);
  if (open != nullptr && open->deadline <= now) {
    Expire(token, *holds_.Take(token));
    open = nullptr;
    ++expired;
  }
  const EndedHolds::Ended* ended = nullptr;
  if (open == nullptr) ended = ended_.Find(token, now);
  if (open == nullptr && ended == nullptr) ended = named_ended_.Find(token, now);
  const Hold* hold = ended != nullptr ? &ended->hold : open;
  if (hold != nullptr && id.round < hold->round) {
    answer->reserved_tokens = hold->charged.tokens;
    HoldEnd::OfEarlierRound().AnswerTo(settlement, answer);
  } else if (hold != nullptr && id.round == hold->round) {
    open != nullptr ? SettleOpen(token, *open, settlement, answer) : SettleEnded(token, *ended, settlement, answer);
  }
  ForgetEnded();
  return expired;
}

void ModelCounts::SettleOpen(const ReservationToken& token, const Hold& open, const Settlement& settlement,
                             SettlementAnswer* answer) {
  answer->code = SettlementAnswer::Code::kSettled;
  answer->reserved_tokens = open.charged.tokens;
  answer->time_left = open.deadline - now_;
  const Amounts used = {.tokens = std::max(open.used.tokens, settlement.tokens.value_or(0)),
                        .money = std::max(open.used.money, settlement.tokens ? settlement.money : 0)};
  answer->actual_tokens = used.tokens;
  EnterMore(open, UseBeyond(open.charged, open.used, used));
  if (settlement.extend) {
    holds_.NoteUse(token, used);
    if (*settlement.extend > answer->time_left) holds_.Extend(token, now_ + *settlement.extend);
    return;
  }
  Hold hold = *holds_.Take(token);
  answer->refunded = !settlement.tokens;
  GiveBack(hold, UnusedOf(hold.charged, used, !answer->refunded));
  EndAs(token, std::move(hold), *answer);
}

void ModelCounts::SettleEnded(const ReservationToken& token, const EndedHolds::Ended& ended,
                              const Settlement& settlement, SettlementAnswer* answer) {
  answer->reserved_tokens = ended.hold.charged.tokens;
  if (!ended.end.AnswerTo(settlement, answer)) return;
  Hold hold = ended.hold;
  answer->actual_tokens = std::max(answer->actual_tokens, hold.used.tokens);
  if (!answer->refunded) {
    EnterMore(hold, {.requests = hold.used != Amounts() ? 0 : hold.charged.requests,
                     .tokens = answer->actual_tokens - hold.used.tokens,
                     .money = settlement.money - hold.used.money});
  }
  EndAs(token, std::move(hold), *answer);
}

const Hold* ModelCounts::FindMade(const ReservationToken& token) {
  if (const Hold* open = holds_.Find(token)) return open;
  const EndedHolds::Ended* ended = named_ended_.Find(token, now_);
  return ended != nullptr && !ended->end.as_if_never() ? &ended->hold : nullptr;
}

void ModelCounts::EndAs(const ReservationToken& token, Hold hold, const SettlementAnswer& answer) {
  Unpin(hold);
  hold.tiers = {};
  const WallTime kept_until = now_ + (hold.named ? kExpiredKept : kSettledKept);
  EndedHolds& ends = EndsOf(hold);
  ends.Add(token, {.end = HoldEnd::Of(answer), .hold = std::move(hold), .kept_until = kept_until});
}

// The reservation's meters stay pinned, because a late commit charges them.
void ModelCounts::Expire(const ReservationToken& token, Hold hold) {
  GiveBack(hold, UnusedOf(hold.charged, hold.used, false));
  const WallTime kept_until = hold.deadline + kExpiredKept;
  EndedHolds& ends = EndsOf(hold);
  ends.Add(token, {.hold = std::move(hold), .kept_until = kept_until});
}

void ModelCounts::GiveBackAll() {
  holds_.ForEach([this](const Hold& hold) { GiveBack(hold, UnusedOf(hold.charged, hold.used, false)); });
}

void ModelCounts::ForgetEnded() {
  while (const std::optional<EndedHolds::Ended> ended = ended_.TakeForgotten(now_)) Unpin(ended->hold);
  while (const std::optional<EndedHolds::Ended> ended = named_ended_.TakeForgotten(now_)) {
    Unpin(ended->hold);
    if (ended->kept_until > now_) bounds_.name_lost.store(now_, std::memory_order_relaxed);
  }
}

void ModelCounts::GiveBack(const Hold& hold, const Amounts& amounts) {
  if (amounts.requests > 0) {
    requests_.GiveBack(hold.request_ref, amounts.requests);
    day_.GiveBack(hold.day, amounts.requests);
  }
  if (amounts.tokens > 0) tokens_.GiveBack(hold.token_ref, amounts.tokens);
  const std::unique_lock lock = LockFor(hold);
  for (const Hold::Part& part : hold.tiers) {
    const int64_t amount = amounts.Of(part.unit);
    if (amount == 0) continue;
    part.meter->Advance(now_);
    part.meter->GiveBack(part.ref, amount, hold.charged.Of(part.unit), now_ - hold.made());
  }
}

void ModelCounts::EnterMore(const Hold& hold, const Amounts& amounts) {
  if (amounts.requests > 0) {
    requests_.Add(now_, amounts.requests);
    day_.Add(now_, amounts.requests);
  }
  if (amounts.tokens > 0) tokens_.Add(now_, amounts.tokens);
  const std::unique_lock lock = LockFor(hold);
  for (const Hold::Part& part : hold.tiers) {
    const int64_t amount = amounts.Of(part.unit);
    if (amount <= 0) continue;
    part.meter->Advance(now_);
    part.meter->Add(now_, amount);
  }
}

void ModelCounts::Unpin(const Hold& hold) const {
  const std::unique_lock lock = LockFor(hold);
  for (const Hold::Part& part : hold.tiers) part.meter->Unpin();
}

std::unique_lock<Mutex> ModelCounts::LockFor(const Hold& hold) const {
  const bool across = std::ranges::any_of(hold.tiers, &Hold::Part::of_all_models);
  return across ? std::unique_lock(across_mutex_) : std::unique_lock<Mutex>();
}

void ModelCounts::Restore(const ModelState& state, WallTime now) {
  requests_.Restore(state.requests, now);
  tokens_.Restore(state.tokens, now);
  day_.Set(std::max(state.day_start, WallTime()), std::min(kMostAmount, state.day_count));
  Advance(now);
}

void ModelCounts::Save(ModelState* state) const {
  state->requests = requests_.Entries();
  state->tokens = tokens_.Entries();
  state->day_start = day_.start();
  state->day_count = day_.count();
}

void ModelCounts::ForgetMeters() {
  bounds_.meters.GiveBack(meters_.size());
  meters_.clear();
}

size_t ModelCounts::Sweep(WallTime now, size_t buckets) {
  ForgetEnded();
  size_t swept = 0;
  for (; swept < buckets && !meters_.empty(); ++swept) {
    next_bucket_ = (next_bucket_ + 1) % meters_.bucket_count();
    for (auto at = meters_.begin(next_bucket_); at != meters_.end(next_bucket_);) {
      Meter& meter = at->second;
      const MeterKey& key = at->first;
      ++at;
      meter.Advance(now);
      if (!meter.Forgettable()) continue;
      meters_.erase(meters_.find(key));
      bounds_.meters.GiveBack(1);
    }
  }
  return swept;
}

bool ModelCounts::Quiet() const {
  return requests_.used() == 0 && tokens_.used() == 0 && day_.count() == 0 && holds_.size() == 0;
}

}  // namespace weir
