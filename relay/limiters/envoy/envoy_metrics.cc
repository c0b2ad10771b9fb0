#include "relay/limiters/envoy/envoy_metrics.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "config/text/parse.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, kDescriptorCodes> kDescriptorCodeNames = {"ok", "over_limit", "invalid_request"};

uint64_t Value(const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); }

struct HitsFamily {
  const char* name;
  const char* help;
  uint64_t (*count)(const RuleCounts& counts);
};
constexpr HitsFamily kHitsFamilies[] = {
    {"weir_ratelimit_hits_total", "Hits that a rule applied to; beyond 1,000 rules, the rest count as one",
     [](const RuleCounts& counts) { return Value(counts.hits); }},
    {"weir_ratelimit_over_limit_hits_total", "Hits beyond the limit of the rule",
     [](const RuleCounts& counts) { return Value(counts.over); }},
    {"weir_ratelimit_near_limit_hits_total", "Hits within the limit of the rule, but beyond four fifths of it",
     [](const RuleCounts& counts) { return Value(counts.near); }},
    {"weir_ratelimit_within_limit_hits_total", "Hits of requests whose hits were all within the limit of the rule",
     [](const RuleCounts& counts) { return counts.within(); }},
    {"weir_ratelimit_shadow_mode_hits_total", "Hits beyond the limit of a rule in shadow mode, which refused nothing",
     [](const RuleCounts& counts) { return Value(counts.shadow); }},
    {"weir_ratelimit_crowded_hits_total",
     "Hits of values that are counted together because WEIR_RATELIMIT_MAX_MIB has no room for each",
     [](const RuleCounts& counts) { return Value(counts.with_others); }},
};

struct RuleFigures {
  std::string name;
  uint64_t hits = 0;
  uint64_t over = 0;
};
constexpr size_t kMostRules = LiveTable::kMostRows;

// Returns the kMostRules rules with the most hits, the most hits first. Sets *left_out to the number of other rules
// with hits.
std::vector<RuleFigures> Foremost(const DescriptorRules& rules, uint64_t* left_out) {
  std::vector<RuleFigures> all;
  for (const auto& [rule, counts] : rules.counted())
    if (Value(counts->hits) > 0)
      all.push_back({rule.first + ": " + rule.second, Value(counts->hits), Value(counts->over)});
  const size_t most = std::min(kMostRules, all.size());
  *left_out = all.size() - most;
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(most), std::greater<>(), &RuleFigures::hits);
  all.resize(most);
  return all;
}

}  // namespace

void EnvoyMetrics::AppendLive(LiveTables& tables, const DescriptorLimiter& limiter) const {
  const auto rules = limiter.rules();
  LiveTable& table =
      tables.Add("ratelimit", "Envoy's rate limits",
                 {{"domain: rule"}, {"hits a second", true}, {"over it", true}, {"hits", true}, {"over", true}});
  for (const RuleFigures& rule : Foremost(*rules, &table.left_out)) {
    const double hits = tables.PerSecond("rule " + rule.name, static_cast<double>(rule.hits));
    const double over = tables.PerSecond("over " + rule.name, static_cast<double>(rule.over));
    table.AddRow({Printable(rule.name), ShortNumber(RoundedCount(hits)), ShortNumber(RoundedCount(over)),
                  ShortNumber(rule.hits), ShortNumber(rule.over)});
  }
}

std::string_view NameOf(DescriptorAnswer::Code code) { return kDescriptorCodeNames[static_cast<size_t>(code)]; }

void EnvoyMetrics::AppendTo(MetricFamilies& families, const DescriptorLimiter& limiter) const {
  const DescriptorCounts counts = limiter.Counts();
  families.Counter("weir_ratelimit_requests_total", "Requests for Envoy's rate limits, by answer");
  for (size_t code = 0; code < kDescriptorCodes; ++code)
    families.Add(counts.answers[code], {{"code", kDescriptorCodeNames[code]}});
  families.Add(Value(unreadable_), {{"code", "unreadable"}});
  families
      .Counter("weir_ratelimit_requests_let_pass_total",
               "Requests over a limit that passed because of WEIR_RATELIMIT_SHADOW")
      .Add(counts.let_pass);
  families.Counter("weir_ratelimit_descriptors_without_limit_total", "Descriptors that no limit applied to, by reason")
      .Add(counts.unknown_domain, {{"reason", "unknown_domain"}})
      .Add(counts.without_limit, {{"reason", "no_rule"}});
  const auto rules = limiter.rules();
  for (const HitsFamily& family : kHitsFamilies) {
    families.Counter(family.name, family.help);
    for (const auto& [rule, of_rule] : rules->counted())
      families.Add(family.count(*of_rule), {{"domain", rule.first}, {"rule", rule.second}});
  }
  families.Gauge("weir_ratelimit_rules", "Limits that the configuration has now").Add(rules->limits().size());
  families.Gauge("weir_ratelimit_names", "Descriptors in their current window").Add(counts.names);
  families.Gauge("weir_ratelimit_names_bytes", "Bytes of WEIR_RATELIMIT_MAX_MIB that descriptors use")
      .Add(counts.bytes);
  families
      .Counter("weir_ratelimit_names_gave_way_total", "Descriptors that gave way to others before their window ended")
      .Add(counts.gave_way);
  config_reads_.AppendTo(families, "weir_ratelimit");
}

}  // namespace weir
