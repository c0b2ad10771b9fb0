#include "throttle/quota/model_counts.h"

#include <algorithm>

#include "throttle/quota/charge_amounts.h"

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
    const std::optional<Hold> hold = holds_.TakeExpired(now);
    if (!hold) break;
    GiveBack(*hold, hold->requests, hold->tokens);
  }
  return expired;
}

void ModelCounts::FindMeters(std::span<const TierCharge> tiers, WallTime now, std::vector<Meter*>* meters) {
  for (const TierCharge& tier : tiers) {
    const auto found = meters_.find(MeterKeyView(tier));
    Meter* meter = found == meters_.end() ? nullptr : &found->second;
    if (meter) {
      meter->Advance(now);
      meter->Follow(tier.limit);
    }
    meters->push_back(meter);
  }
}

size_t ModelCounts::MakeMeters(const Charge& charge, WallTime now, std::vector<Meter*>* meters) {
  size_t missing = 0;
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    const TierCharge& tier = charge.tiers[i];
    if ((*meters)[i] || !Needs(charge, tier.limit.unit)) continue;
    if (!meter_bound_.Take(1)) {
      ++missing;
      continue;
    }
    const auto [made, fresh] = meters_.try_emplace(MeterKey(MeterKeyView(tier)), tier.limit, now);
    if (!fresh) meter_bound_.GiveBack(1);
    (*meters)[i] = &made->second;
  }
  return missing;
}

void ModelCounts::Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters) {
  EnterParts(charge, now, meters, false);
}

void ModelCounts::Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters,
                        const ReservationToken& token) {
  holds_.Add(token, EnterParts(charge, now, meters, true));
}

Hold ModelCounts::EnterParts(const Charge& charge, WallTime now, const std::vector<Meter*>& meters, bool pin) {
  Hold hold{
      .deadline = now + charge.hold_for,
      .hold_for = charge.hold_for,
      .requests = charge.requests,
      .tokens = charge.tokens,
  };
  if (charge.requests > 0) {
    hold.request_ref = requests_.Add(now, charge.requests);
    hold.day = day_.Add(now, charge.requests);
  }
  if (charge.tokens > 0) hold.token_ref = tokens_.Add(now, charge.tokens);
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    const Limit::Unit unit = charge.tiers[i].limit.unit;
    Meter* meter = meters[i];
    if (!meter) continue;
    const int64_t amount = AmountOf(charge, unit);
    const WindowLog::Ref ref = amount > 0 ? meter->Add(now, amount) : 0;
    if (!pin) continue;
    meter->Pin();
    hold.tiers.push_back({meter, unit, ref});
  }
  return hold;
}

std::optional<ModelCounts::SettledHold> ModelCounts::Settle(const ReservationToken& token,
                                                            std::optional<int64_t> tokens, WallTime now) {
  const std::optional<Hold> hold = holds_.TakeOpen(token, now);
  if (!hold) return {};
  const int64_t used = tokens.value_or(0);
  GiveBack(*hold, tokens ? 0 : hold->requests, std::max<int64_t>(0, hold->tokens - used));
  if (used > hold->tokens) EnterMore(*hold, used - hold->tokens, now);
  return SettledHold{.tokens = hold->tokens, .time_left = hold->deadline - now};
}

void ModelCounts::GiveBack(const Hold& hold, int64_t requests, int64_t tokens) {
  if (requests > 0) {
    requests_.GiveBack(hold.request_ref, requests);
    day_.GiveBack(hold.day, requests);
  }
  if (tokens > 0) tokens_.GiveBack(hold.token_ref, tokens);
  for (const Hold::Part& part : hold.tiers) {
    part.meter->Unpin();
    const int64_t amount = part.unit == Limit::Unit::kRequests ? requests : tokens;
    if (amount == 0) continue;
    part.meter->Advance(now_);
    const int64_t reserved = part.unit == Limit::Unit::kRequests ? hold.requests : hold.tokens;
    part.meter->GiveBack(part.ref, amount, reserved, now_ - (hold.deadline - hold.hold_for));
  }
}

void ModelCounts::EnterMore(const Hold& hold, int64_t tokens, WallTime now) {
  tokens_.Add(now, tokens);
  for (const Hold::Part& part : hold.tiers) {
    if (part.unit != Limit::Unit::kTokens) continue;
    part.meter->Advance(now);
    part.meter->Add(now, tokens);
  }
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

size_t ModelCounts::Sweep(WallTime now, size_t buckets) {
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
      meter_bound_.GiveBack(1);
    }
  }
  return swept;
}

bool ModelCounts::Quiet() const {
  return requests_.used() == 0 && tokens_.used() == 0 && day_.count() == 0 && holds_.size() == 0;
}

}  // namespace weir
