// Compares the limiter with a reference that searches all rules and remembers all hits.
#include <algorithm>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "tests/throttle/limits/descriptors/descriptor_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

// A rule of a random tree, flattened to its path from the root.
struct FlatRule {
  std::vector<std::pair<std::string, std::string>> path;  // keys and values as written
  std::optional<WrittenLimit> limit;
  bool shared;
};

class Reference {
 public:
  explicit Reference(std::vector<FlatRule> rules) : rules_(std::move(rules)) {}

  // Returns null if there is no limit. Sets *name to the name that the hits are counted by.
  const FlatRule* RuleOf(const std::vector<DescriptorEntry>& entries, std::string* name) const {
    std::vector<std::pair<std::string, std::string>> path;
    const FlatRule* rule = nullptr;
    for (const DescriptorEntry& entry : entries) {
      rule = Best(path, entry);
      if (rule == nullptr) return nullptr;
      path.push_back(rule->path.back());
      *name += std::string(entry.key) + "=" +
               (rule->shared ? "shared " + path.back().second : std::string(entry.value)) + "/";
    }
    return rule != nullptr && rule->limit ? rule : nullptr;
  }

  // Returns the hits charged in the window of now.
  uint64_t ChargedOf(const std::string& name, LimitUnit unit, int64_t now) const {
    uint64_t charged = 0;
    for (const Hit& hit : hits_) {
      if (hit.name == name && hit.unit == unit && hit.at / SecondsOf(unit) == now / SecondsOf(unit))
        charged += hit.hits;
    }
    return charged;
  }
  // Returns the hits charged after this.
  uint64_t Charge(const std::string& name, LimitUnit unit, uint64_t hits, int64_t now) {
    if (hits > 0) hits_.push_back({name, unit, hits, now});
    return ChargedOf(name, unit, now);
  }

  // Among the patterns of a key, in their order: returns true if an earlier one takes all values of a later one.
  static bool LeavesNothing(const std::string& before, const std::string& value) {
    const auto is_pattern = [](const std::string& text) { return text.find('*') != text.npos; };
    const auto is_any = [](const std::string& text) { return text.find_first_not_of('*') == text.npos; };
    if (is_pattern(before) && is_pattern(value)) return Matches(before, value);
    return is_any(before) && is_any(value);
  }

 private:
  struct Hit {
    std::string name;
    LimitUnit unit;
    uint64_t hits;
    int64_t at;
  };

  const FlatRule* Best(const std::vector<std::pair<std::string, std::string>>& parent,
                       const DescriptorEntry& entry) const {
    const FlatRule* best = nullptr;
    int best_rank = 0;
    for (const FlatRule& rule : rules_) {
      if (rule.path.size() != parent.size() + 1 || !std::equal(parent.begin(), parent.end(), rule.path.begin()))
        continue;
      const auto& [key, value] = rule.path.back();
      if (key != entry.key) continue;
      const bool is_pattern = value.find('*') != value.npos;
      const int rank = value.empty()          ? 1
                       : is_pattern           ? (Matches(value, entry.value) ? 2 : 0)
                       : value == entry.value ? 3
                                              : 0;
      if (rank <= best_rank) continue;
      best = &rule;
      best_rank = rank;
    }
    return best;
  }

  // Tries each length of the text that the star matches.
  static bool Matches(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] != '*') return !text.empty() && text[0] == pattern[0] && Matches(pattern.substr(1), text.substr(1));
    for (size_t length = 0; length <= text.size(); ++length)
      if (Matches(pattern.substr(1), text.substr(length))) return true;
    return false;
  }

  std::vector<FlatRule> rules_;
  std::vector<Hit> hits_;
};

const std::string& AnyOf(const std::vector<std::string>& texts) {
  return texts[*rc::gen::inRange<size_t>(0, texts.size())];
}
const std::vector<std::string> kKeys = {"a", "b", "a_x"};
const std::vector<std::string> kValues = {"", "x", "xy", "xyx", "yx", "y"};
const std::vector<std::string> kRuleValues = {"", "x", "xy", "y", "x*", "*x", "x*x", "*", "*y*"};

void Grow(DescriptorRules::Node* node, const std::vector<std::pair<std::string, std::string>>& path,
          std::vector<FlatRule>* flat) {
  const int count = *rc::gen::inRange(path.empty() ? 2 : 0, path.empty() ? 7 : 4);
  for (int i = 0; i < count; ++i) {
    DescriptorRule rule{.key = AnyOf(kKeys), .value = AnyOf(kRuleValues)};
    if (*rc::gen::inRange(0, 4) > 0) {
      rule.limit = PerUnit(*rc::gen::inRange(0U, 6U), *rc::gen::element(LimitUnit::kPerSecond, LimitUnit::kPerMinute,
                                                                        LimitUnit::kPerHour, LimitUnit::kPerWeek));
    }
    rule.share_threshold = rule.value.find('*') != rule.value.npos && *rc::gen::inRange(0, 3) == 0;
    auto own_path = path;
    own_path.emplace_back(rule.key, rule.value);
    const bool is_new = std::ranges::none_of(*flat, [&](const FlatRule& other) {
      return other.path.size() == own_path.size() && std::equal(path.begin(), path.end(), other.path.begin()) &&
             other.path.back().first == rule.key &&
             (other.path.back().second == rule.value || Reference::LeavesNothing(other.path.back().second, rule.value));
    });
    auto added = node->Add(rule);
    RC_ASSERT(added.ok() == is_new);
    if (!is_new) continue;
    flat->push_back({own_path, rule.limit, rule.share_threshold});
    if (own_path.size() < 3) Grow(added.value(), own_path, flat);
  }
}

RC_GTEST_PROP(DescriptorProperty, AnswersAsTheReferenceDoes, ()) {
  auto rules = std::make_shared<DescriptorRules>();
  std::vector<FlatRule> flat;
  Grow(rules->AddDomain("d"), {}, &flat);
  ManualWallClock wall_clock(WallTime(seconds(1'700'000'000)));
  ManualClock clock;
  DescriptorLimiter limiter({.rules = rules, .shards = 3}, wall_clock, clock);
  Reference reference(flat);

  for (int step = 0; step < 150; ++step) {
    const seconds passed(*rc::gen::weightedElement<int>({{20, 0}, {5, 1}, {3, 17}, {2, 61}, {1, 4000}}));
    wall_clock.Advance(passed);
    clock.Advance(passed);
    if (*rc::gen::inRange(0, 5) == 0) limiter.Tick();
    std::vector<std::vector<DescriptorEntry>> entries(*rc::gen::inRange<size_t>(1, 4));
    std::vector<AskedDescriptor> asked;
    for (auto& each : entries) {
      const auto depth = *rc::gen::weightedElement<size_t>({{6, 1}, {4, 2}, {2, 3}, {1, 4}});
      for (size_t i = 0; i < depth; ++i) each.push_back({AnyOf(kKeys), AnyOf(kValues)});
      const auto hits = *rc::gen::weightedElement<std::optional<uint64_t>>({{6, std::nullopt}, {1, 0}, {1, 3}});
      asked.push_back({.entries = each, .hits = hits});
    }
    std::optional<DescriptorAnswer> answer;
    limiter.Ask({.domain = "d", .descriptors = asked}, [&](DescriptorAnswer given) { answer = std::move(given); });

    const int64_t now = std::chrono::floor<seconds>(wall_clock.Now()).time_since_epoch().count();
    bool any_over = false;
    // Descriptors whose names have hits already are charged first. The others follow, unless the request is over the
    // limit by then.
    std::vector<std::string> names(asked.size());
    std::vector<const FlatRule*> of(asked.size());
    std::vector<size_t> known, others;
    for (size_t i = 0; i < asked.size(); ++i) {
      of[i] = reference.RuleOf(entries[i], &names[i]);
      RC_ASSERT(answer->statuses[i].limit.has_value() == (of[i] != nullptr));
      if (of[i] == nullptr) continue;
      (reference.ChargedOf(names[i], of[i]->limit->unit, now) > 0 ? known : others).push_back(i);
    }
    const auto check = [&](const std::vector<size_t>& descriptors, bool charges) {
      for (const size_t i : descriptors) {
        const DescriptorStatus& status = answer->statuses[i];
        const WrittenLimit& limit = *of[i]->limit;
        const uint64_t after = reference.Charge(names[i], limit.unit, charges ? asked[i].hits.value_or(1) : 0, now);
        RC_ASSERT(status.limit->requests_per_unit == limit.requests_per_unit);
        RC_ASSERT(status.over == (after > limit.requests_per_unit));
        RC_ASSERT(status.remaining == limit.requests_per_unit - std::min<uint64_t>(limit.requests_per_unit, after));
        const int64_t length = SecondsOf(limit.unit);
        RC_ASSERT(status.until_reset == seconds(length - now % length));
        any_over = any_over || status.over;
      }
    };
    check(known, true);
    check(others, !any_over);
    RC_ASSERT((answer->code == DescriptorAnswer::Code::kOverLimit) == any_over);
  }
}

}  // namespace
}  // namespace weir
