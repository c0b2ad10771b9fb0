#include "throttle/limits/quota/begun_anew.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "config/text/parse.h"
#include "throttle/limits/quota/model_names.h"
#include "throttle/limits/quota/quota_limiter.h"
#include "throttle/limits/quota/tier_rules.h"

namespace weir {
namespace {

// A request that stands for all requests that meet the same rules. "*" means each name without rules of its own.
struct Sample {
  std::string_view model;
  Requester requester;
};

// Adds samples for all rules of the configuration. The samples are views into it.
void AddSamples(const TierRulesConfig& tiers, std::vector<Sample>* samples) {
  const auto add = [&](std::string_view model, Requester requester) {
    if (requester.user.empty()) requester.user = kEveryOther;
    samples->push_back({.model = model, .requester = requester});
  };
  add(kAnyModel, {.instance = kEveryOther});
  for (const ModelClass& of_models : tiers.model_classes)
    for (const std::string& model : of_models.models) add(model, {.instance = kEveryOther});
  for (const QosClass& qos : tiers.qos_classes) add(kAnyModel, {.qos = qos.name});
  for (const auto& [user, limits] : tiers.users) add(kAnyModel, {.user = user});
  for (const auto& [tenant, by_model] : tiers.tenants) {
    add(kAnyModel, {.tenant = tenant});
    for (const auto& [model, limits] : by_model) add(model, {.tenant = tenant});
  }
  for (const auto& [tenant, users] : tiers.tenant_users)
    for (const auto& [user, limits] : users) add(kAnyModel, {.user = user, .tenant = tenant});
  for (const auto& [key, tenant] : tiers.api_key_tenants) add(kAnyModel, {.api_key = key});
  for (const auto& [key, by_model] : tiers.api_keys)
    for (const auto& [model, limits] : by_model) add(model, {.api_key = key});
}

// A counter in which a sample's request is counted.
struct Count {
  std::string kind;  // the tier, the kind of total, and the unit
  std::string name;  // its name in a store, with the model
  std::string words;
  std::string limit;
};

std::vector<Count> CountsOf(const TierRules& rules, const Sample& sample, WallTime date) {
  std::vector<Count> counts;
  TierPlan plan;
  if (!rules.MakePlan(sample.model, sample.requester, &plan, date).ok()) return counts;  // no such class of service
  for (size_t i = 0; i < plan.charges().size(); ++i) {
    const TierCharge& charge = plan.charges()[i];
    Limit limit = charge.limit;
    if (IsOfCalendar(limit)) limit.date = 0;  // a counter of the next date is expected
    const Tier tier = plan.tier_of(i);
    const std::string_view of = tier == Tier::kTotal ? TierPlan::TotalOf(charge.key) : "";
    std::string words = "tier " + std::string(NameOf(tier)) + ", " + Printable(plan.party_of(i));
    if (!sample.requester.api_key.empty()) words += ", API key " + BeginOfSecret(sample.requester.api_key);
    if (sample.model != kAnyModel) words += ", model " + Printable(sample.model);
    counts.push_back(
        {.kind = std::string(NameOf(tier)).append(of).append(NameOf(limit.unit)),
         .name = Join(
             {charge.of_all_models ? "" : std::string(sample.model), std::string(charge.key), MeterName(limit)}, "\n"),
         .words = std::move(words),
         .limit = Describe(limit)});
  }
  return counts;
}

bool Has(const std::vector<Count>& counts, const Count& count) {
  return std::ranges::find(counts, count.name, &Count::name) != counts.end();
}

// Makes one warning for all counters for which the same old limit was replaced by the same new limit.
class Warnings {
 public:
  void Add(const Count& before, const Count& now) {
    if (!seen_.insert(now.name).second) return;
    const auto [at, fresh] = places_.try_emplace({now.kind, before.limit, now.limit}, texts_.size());
    if (!fresh) return void(++texts_[at->second].more);
    texts_.push_back({.text = "the count of " + now.limit + " (" + now.words + ") begins at 0; so far it was " +
                              before.limit + " (" + before.words + ")"});
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const auto& [text, more] : texts_)
      texts.push_back(more == 0 ? text : text + "; so do the counts of " + std::to_string(more) + " more like it");
    return texts;
  }

 private:
  struct Text {
    std::string text;
    size_t more = 0;
  };
  std::set<std::string> seen_;                                                  // names of counters already warned of;
                                                                                // several samples may meet one
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places_;  // positions in texts_
  std::vector<Text> texts_;
};

}  // namespace

std::vector<std::string> CountsBegunAnew(const QuotaConfig& before, const QuotaConfig& now, WallTime date) {
  const TierRules rules_before(before.tiers);
  const TierRules rules_now(now.tiers);
  std::vector<Sample> samples;
  AddSamples(before.tiers, &samples);
  AddSamples(now.tiers, &samples);
  Warnings warnings;
  for (const Sample& sample : samples) {
    const std::vector<Count> counts_before = CountsOf(rules_before, sample, date);
    const std::vector<Count> counts_now = CountsOf(rules_now, sample, date);
    for (const Count& count : counts_now) {
      if (Has(counts_before, count)) continue;
      const auto replaced = std::ranges::find_if(
          counts_before, [&](const Count& other) { return other.kind == count.kind && !Has(counts_now, other); });
      if (replaced != counts_before.end()) warnings.Add(*replaced, count);
    }
  }
  std::vector<std::string> texts = warnings.Texts();
  const ModelNames names_before(before);
  const ModelNames names_now(now);
  for (const auto& [name, model] : before.aliases) {
    const std::string_view as = names_now.CountedAs(name);
    if (names_before.CountedAs(name) == model && as != model)
      texts.push_back("requests for " + Printable(name) + " were counted as " + Printable(model) + ", and are as " +
                      Printable(as) + " from now on: what they had used stays with " + Printable(model));
  }
  return texts;
}

}  // namespace weir
