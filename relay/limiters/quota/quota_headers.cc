#include "relay/limiters/quota/quota_headers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>

#include "config/text/parse.h"
#include "config/text/rfc3339.h"
#include "relay/limiters/quota/quota_json.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A limit that applied to the request, and its state.
struct Met {
  std::string policy;
  Limit limit;
  int64_t remaining = 0;
  Duration reset{};
  bool refuses = false;  // the limit refuses the request, but would allow it after a wait
};

// Returns the name of the unit in the fields. For calls it is the name that the draft registers; money is in
// millionths, because the fields have whole numbers only.
std::string_view QuotaUnitOf(Limit::Unit unit) {
  static constexpr std::array<std::string_view, kQuotaUnits> kUnits = {"", "tokens", "money-millionths",
                                                                       "concurrent-requests"};
  return kUnits[static_cast<size_t>(unit)];
}

// Returns the name of the limit, such as "user_model-requests-3600", "user_model-tokens-bucket-60" or
// "user_total-tokens-month".
std::string PolicyOf(const TierState& state) {
  std::string name(NameOf(state.tier));
  if (state.tier == Tier::kTotal) name = std::string(TierPlan::TotalOf(state.key)) + "_total";
  name.append("-").append(NameOf(state.limit.unit));
  if (state.limit.unit == Limit::Unit::kCalls) return name;
  if (IsOfCalendar(state.limit)) return name.append("-").append(PeriodOf(state.limit));
  if (state.limit.kind == Limit::Kind::kBucket) name += "-bucket";
  return name + "-" + FormatNumber(ToSeconds(state.limit.per));
}

class LimitsMet {
 public:
  LimitsMet(const Decision& decision, int64_t tokens, bool reserves, WallTime now)
      : decision_(decision),
        asked_{.requests = 1, .tokens = tokens, .money = decision.cost.value_or(0), .calls = reserves ? 1 : 0} {
    for (const TierState& state : decision.tiers) AddTier(state, now);
    if (decision.quota) AddQuota(*decision.quota, decision.usage, now);
  }
  const std::vector<Met>& all() const { return all_; }

  // Returns the limit of this unit that has the least left; null if there is none.
  const Met* Tightest(Limit::Unit unit) const {
    const Met* least = nullptr;
    for (const Met& met : all_)
      if (met.limit.unit == unit && (least == nullptr || met.remaining < least->remaining)) least = &met;
    return least;
  }

 private:
  void AddTier(const TierState& state, WallTime now) {
    Duration reset = state.limit.per;
    if (state.limit.unit == Limit::Unit::kCalls) {
      reset = kCallsPause;
    } else if (IsOfCalendar(state.limit)) {
      reset = std::max(Duration::zero(), EndOfPeriod(state.limit) - now);
    } else if (state.limit.kind == Limit::Kind::kBucket) {
      constexpr double kMostSeconds = 1e9;
      const double amount = static_cast<double>(std::max<int64_t>(1, state.limit.amount));
      reset =
          FromSeconds(std::min(kMostSeconds, ToSeconds(state.limit.per) * static_cast<double>(state.used) / amount));
    }
    Add(PolicyOf(state), state.limit, state.remaining, reset);
  }
  void AddQuota(const ModelQuota& quota, const ModelUsage& usage, WallTime now) {
    const auto add = [this](std::string policy, Limit limit, int64_t used, Duration reset) {
      if (limit.amount > 0) Add(std::move(policy), limit, std::max<int64_t>(0, limit.amount - used), reset);
    };
    constexpr auto kRequests = Limit::Unit::kRequests;
    const Duration day_left = std::clamp<Duration>(usage.day_start + kDay - now, Duration::zero(), kDay);
    add("rpd", {.unit = kRequests, .amount = quota.max_rpd, .per = kDay}, usage.rpd, day_left);
    add("rpm", {.unit = kRequests, .amount = quota.max_rpm, .per = kMinute}, usage.rpm, kMinute);
    add("tpm", {.unit = Limit::Unit::kTokens, .amount = quota.max_tpm, .per = kMinute}, usage.tpm, kMinute);
  }
  void Add(std::string policy, const Limit& limit, int64_t remaining, Duration reset) {
    Met met{.policy = std::move(policy), .limit = limit, .remaining = std::max<int64_t>(0, remaining)};
    met.refuses = !decision_.allowed && decision_.retry_after && met.remaining < asked_.Of(limit.unit);
    if (met.refuses) {
      met.reset = *decision_.retry_after;
    } else if (met.remaining < MostAtOnce(limit)) {
      met.reset = reset;
    }
    all_.push_back(std::move(met));
  }

  const Decision& decision_;
  const Amounts asked_;
  std::vector<Met> all_;
};

void AddIetf(const Decision& decision, const std::vector<Met>& limits, HttpFields* fields) {
  std::vector<LimitState> states;
  states.reserve(limits.size());
  for (const Met& met : limits) {
    const bool has_length = !IsOfCalendar(met.limit) && met.limit.unit != Limit::Unit::kCalls;
    LimitState& state = states.emplace_back(LimitState{.policy = met.policy,
                                                       .amount = met.limit.amount,
                                                       .window = has_length ? met.limit.per : Duration(),
                                                       .remaining = met.remaining,
                                                       .unit = QuotaUnitOf(met.limit.unit)});
    if (met.limit.kind == Limit::Kind::kBucket) state.burst = met.limit.burst;
    // The draft forbids a reset later than Retry-After. So after a refusal with Retry-After, only limits that refuse
    // state their reset.
    if (decision.allowed || !decision.retry_after || met.refuses) state.reset = met.reset;
  }
  AddRateLimitFields(states, fields);
}

void AddOpenAi(const LimitsMet& limits, HttpFields* fields) {
  for (const Limit::Unit unit : {Limit::Unit::kRequests, Limit::Unit::kTokens}) {
    const Met* met = limits.Tightest(unit);
    if (met == nullptr) continue;
    const std::string name(NameOf(unit));
    fields->emplace_back("x-ratelimit-limit-" + name, std::to_string(MostAtOnce(met->limit)));
    fields->emplace_back("x-ratelimit-remaining-" + name, std::to_string(met->remaining));
    fields->emplace_back("x-ratelimit-reset-" + name, FormatWait(met->reset));
  }
}

void AddAnthropic(const LimitsMet& limits, WallTime now, HttpFields* fields) {
  for (const Limit::Unit unit : {Limit::Unit::kRequests, Limit::Unit::kTokens}) {
    const Met* met = limits.Tightest(unit);
    if (met == nullptr) continue;
    const std::string name = "anthropic-ratelimit-" + std::string(NameOf(unit));
    fields->emplace_back(name + "-limit", std::to_string(MostAtOnce(met->limit)));
    fields->emplace_back(name + "-remaining", std::to_string(met->remaining));
    fields->emplace_back(name + "-reset", FormatTime(std::chrono::ceil<seconds>(now + met->reset)));
  }
}

}  // namespace

HttpFields RateLimitFields(const Decision& decision, int64_t tokens, bool reserves, RateLimitDialect dialect,
                           WallTime now) {
  HttpFields fields;
  const LimitsMet limits(decision, tokens, reserves, now);
  if (limits.all().empty()) return fields;
  if (dialect == RateLimitDialect::kOpenAi) AddOpenAi(limits, &fields);
  if (dialect == RateLimitDialect::kAnthropic) AddAnthropic(limits, now, &fields);
  if (dialect == RateLimitDialect::kIetf || !decision.allowed) AddIetf(decision, limits.all(), &fields);
  return fields;
}

std::string FormatWait(Duration wait) {
  const int64_t ms = std::max<int64_t>(0, std::chrono::ceil<milliseconds>(wait).count());
  if (ms > 0 && ms < 1000) return std::to_string(ms) + "ms";
  const int64_t hours = ms / 3'600'000;
  const int64_t minutes = ms / 60'000 % 60;
  std::string text;
  if (hours > 0) text += std::to_string(hours) + "h";
  if (hours > 0 || minutes > 0) text += std::to_string(minutes) + "m";
  return text + FormatNumber(static_cast<double>(ms % 60'000) / 1000) + "s";
}

}  // namespace weir
