#include "relay/limiters/quota/quota_metrics.h"

#include <string>
#include <utility>

#include "config/text/parse.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, QuotaObserver::kCalls> kCallNames = {"decide", "take", "reserve", "record",
                                                                            "explain"};
constexpr std::array<std::string_view, 6> kSettledNames = {"settled",           "unknown_reservation", "invalid_tokens",
                                                           "store_unavailable", "already_settled",     "expired"};
constexpr std::array<std::string_view, 3> kSettlingNames = {"commit", "refund", "extend"};
constexpr std::array<std::string_view, 3> kOutcomeNames = {"allowed", "refused", "shadowed"};
constexpr std::string_view kOther = "other";

void Count(std::atomic<uint64_t>& counter, uint64_t count = 1) { counter.fetch_add(count, std::memory_order_relaxed); }
uint64_t Read(const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }

std::string_view TierLabel(size_t tier) { return tier < kTiers ? NameOf(static_cast<Tier>(tier)) : "none"; }

}  // namespace

QuotaMetrics::QuotaMetrics(const Clock& clock, std::function<void()> on_store_failure)
    : clock_(clock), on_store_failure_(std::move(on_store_failure)) {
  owned_[0] = std::make_unique<ClassCounts>();
  owned_[0]->name = kOther;
  classes_[0].store(owned_[0].get(), std::memory_order_release);
}

QuotaMetrics::ClassCounts& QuotaMetrics::CountsOf(std::string_view model_class) {
  for (const auto& place : classes_) {
    ClassCounts* counts = place.load(std::memory_order_acquire);
    if (counts == nullptr) break;
    if (counts->name == model_class) return *counts;
  }
  const MutexLock lock(mutex_);
  for (size_t n = 0; n < classes_.size(); ++n) {
    if (owned_[n] == nullptr) {
      owned_[n] = std::make_unique<ClassCounts>();
      owned_[n]->name = model_class;
      classes_[n].store(owned_[n].get(), std::memory_order_release);
    }
    if (owned_[n]->name == model_class) return *owned_[n];
  }
  return *owned_[0];
}

void QuotaMetrics::OnDecision(Call call, std::string_view model_class, const Decision& decision) {
  const auto code = static_cast<size_t>(decision.code);
  const size_t tier = decision.tier ? static_cast<size_t>(*decision.tier) : kTiers;
  const Outcome outcome = decision.shadowed  ? Outcome::kShadowed
                          : decision.allowed ? Outcome::kAllowed
                                             : Outcome::kRefused;
  Count(CountsOf(model_class).decisions[static_cast<size_t>(call)][static_cast<size_t>(outcome)][code][tier]);
  if (!decision.reservation.empty() && !decision.again) open_.Made(clock_.Now(), decision.reservation_ttl);
  if (decision.shadowed) Count(shadowed_[code]);
  if (decision.code == QuotaCode::kStoreUnavailable && decision.allowed) Count(unchecked_);
}

void QuotaMetrics::OnSettled(const Settled& settled, bool refund) {
  Count(settled_[refund ? 1 : 0][static_cast<size_t>(settled.code)]);
  if (!settled.ok()) return;
  if (settled.again) return Count(again_);
  if (settled.late) return Count(late_);
  open_.Settled(clock_.Now(), settled.time_left);
  if (refund) return;
  const int64_t difference = settled.actual_tokens - settled.reserved_tokens;
  Count(difference < 0 ? tokens_less_ : tokens_more_, static_cast<uint64_t>(difference < 0 ? -difference : difference));
}

void QuotaMetrics::OnExtended(const Settled& settled) {
  Count(settled_[2][static_cast<size_t>(settled.code)]);
  if (!settled.ok()) return;
  open_.Settled(clock_.Now(), settled.time_left);
  open_.Made(clock_.Now(), settled.extended_to);
}

void QuotaMetrics::OnStoreAnswer(Duration latency, bool available) {
  (available ? store_answers_ : store_failures_).Observe(latency);
  const bool was_available = store_available_.exchange(available, std::memory_order_relaxed);
  if (was_available && !available && on_store_failure_) on_store_failure_();
}

void QuotaMetrics::AppendTo(MetricFamilies& families, const StoreHealth& health) const {
  AppendDecisions(families);
  AppendSettlements(families);
  // The number may be below 0, if this process settles reservations that other processes have made.
  families
      .Gauge(
          "weir_quota_reservations_open",
          "Unexpired reservations that this process made, minus those that it settled (below 0 if it settles others'); "
          "add up all processes of a store")
      .Add(static_cast<double>(open_.Count(clock_.Now())));
  AppendStore(families, health);
  families
      .Histogram("weir_quota_store_seconds",
                 "Time from a call to the store to its answer, or to giving up; not for stores in memory")
      .Add(store_answers_, {{"result", "answered"}})
      .Add(store_failures_, {{"result", "failed"}});
  config_reads_.AppendTo(families, "weir_quota");
}

// Returns the number of decisions with this outcome, without those of explain.
uint64_t QuotaMetrics::Decided(const ClassCounts& counts, Outcome outcome) {
  uint64_t sum = 0;
  for (size_t call = 0; call < kCalls; ++call) {
    if (call == static_cast<size_t>(Call::kExplain)) continue;
    for (const TierCounts& tiers : counts.decisions[call][static_cast<size_t>(outcome)])
      for (const Counter& count : tiers) sum += Read(count);
  }
  return sum;
}

void QuotaMetrics::AppendLive(LiveTables& tables, const StoreHealth& health) const {
  LiveTable& table = tables.Add(
      "quotas", "Quotas of LLM models" + (health.problem.empty() ? "" : ": " + Printable(health.problem)),
      {{"class of models"}, {"allowed a second", true}, {"refused", true}, {"allowed", true}, {"refused", true}});
  const auto rate = [&tables](const std::string& name, uint64_t count) {
    return ShortNumber(RoundedCount(tables.PerSecond(name, static_cast<double>(count))));
  };
  for (const auto& place : classes_) {
    const ClassCounts* counts = place.load(std::memory_order_acquire);
    if (counts == nullptr) break;
    const uint64_t allowed = Decided(*counts, Outcome::kAllowed) + Decided(*counts, Outcome::kShadowed);
    const uint64_t refused = Decided(*counts, Outcome::kRefused);
    if (allowed + refused == 0) continue;
    table.AddRow({Printable(counts->name), rate("allowed " + counts->name, allowed),
                  rate("refused " + counts->name, refused), ShortNumber(allowed), ShortNumber(refused)});
  }
}

void QuotaMetrics::AppendDecisions(MetricFamilies& families) const {
  families.Counter(
      "weir_quota_decisions_total",
      "Decisions, by call, outcome (allowed, refused, or shadowed: allowed by shadow mode alone), code, the tier that "
      "refused and the class of the model; for records, allowed means counted");
  for (const auto& place : classes_) {
    const ClassCounts* counts = place.load(std::memory_order_acquire);
    if (counts == nullptr) break;
    for (size_t call = 0; call < kCalls; ++call)
      for (size_t outcome = 0; outcome < kOutcomes; ++outcome) AppendDecisions(families, *counts, call, outcome);
  }
  families.Counter("weir_quota_shadowed_total", "Requests that were allowed only because of shadow mode, by code");
  for (size_t code = 0; code < kQuotaCodes; ++code) {
    const auto quota_code = static_cast<QuotaCode>(code);
    if (quota_code != QuotaCode::kOk && quota_code != QuotaCode::kUnlimited)
      families.Add(Read(shadowed_[code]), {{"code", NameOf(quota_code)}});
  }
  families.Counter("weir_quota_unchecked_total", "Requests that were allowed because the store was away")
      .Add(Read(unchecked_));
}

void QuotaMetrics::AppendDecisions(MetricFamilies& families, const ClassCounts& counts, size_t call, size_t outcome) {
  for (size_t code = 0; code < kQuotaCodes; ++code) {
    for (size_t tier = 0; tier < kTierLabels; ++tier) {
      const uint64_t count = Read(counts.decisions[call][outcome][code][tier]);
      // Counts of 0 are left out, except one, so that the metric exists before the first decision.
      const bool is_base = counts.name == kOther && outcome == 0 && code == 0 && tier == kTiers;
      if (count == 0 && !is_base) continue;
      families.Add(count, {{"call", kCallNames[call]},
                           {"outcome", kOutcomeNames[outcome]},
                           {"code", NameOf(static_cast<QuotaCode>(code))},
                           {"tier", TierLabel(tier)},
                           {"class", counts.name}});
    }
  }
}

void QuotaMetrics::AppendSettlements(MetricFamilies& families) const {
  families.Counter("weir_quota_settlements_total", "Ends and extensions of reservations, by call and result");
  for (size_t call = 0; call < settled_.size(); ++call) {
    for (size_t code = 0; code < kSettledCodes; ++code)
      families.Add(Read(settled_[call][code]), {{"call", kSettlingNames[call]}, {"result", kSettledNames[code]}});
  }
  families
      .Counter("weir_quota_late_settlements_total",
               "Commits and refunds after the deadline: reserve for longer, or extend")
      .Add(Read(late_));
  families.Counter("weir_quota_repeated_settlements_total", "Commits and refunds that were repeated").Add(Read(again_));
  families
      .Counter("weir_quota_settled_tokens_difference_total",
               "Tokens by which what was used differed from what was reserved")
      .Add(Read(tokens_less_), {{"direction", "less"}})
      .Add(Read(tokens_more_), {{"direction", "more"}});
}

void QuotaMetrics::AppendStore(MetricFamilies& families, const StoreHealth& health) {
  families
      .Counter("weir_quota_reservations_expired_total",
               "Reservations that expired unsettled; each is found when its model is next asked for")
      .Add(health.expired_reservations);
  families
      .Gauge("weir_quota_store_breaker",
             "0 closed: the store is used; 1 half-open: it is being tried; 2 open: it is not used")
      .Add(static_cast<double>(health.breaker));
  families.Gauge("weir_quota_store_problem", "1 while something is wrong with the store; the log says what")
      .Add(health.problem.empty() ? 0.0 : 1.0);
  families.Gauge("weir_quota_store_warning", "1 while the store answers but is not set up as it should be")
      .Add(health.warning.empty() ? 0.0 : 1.0);
  families.Counter("weir_quota_store_failures_total", "Calls that the store did not answer").Add(health.failures);
  families.Counter("weir_quota_store_reconnects_total", "Connections to the store that were made again")
      .Add(health.reconnects);
  families
      .Counter("weir_quota_dropped_entries_total", "Usage that is not counted because there is no room for its names")
      .Add(health.dropped_entries);
}

}  // namespace weir
