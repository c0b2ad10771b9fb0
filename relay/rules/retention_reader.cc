#include "relay/rules/retention_reader.h"

#include <algorithm>

namespace weir {
namespace {

constexpr size_t kMostRules = 64;
constexpr uint64_t kLeastAge = 60;

struct ReadRule {
  YamlValue value;
  RetentionRule rule;
};

void ReadConditions(YamlMap& map, const RuleFiles& files, RetentionRule* rule) {
  if (const YamlValue kinds = map.Optional("kinds")) {
    KindItems items;
    rule->kinds = KindSet();
    ReadKinds(kinds, &rule->kinds, &items);
  }
  rule->authors = ReadKeys(map, "authors", files);
}

template <typename ReadOthers>
std::vector<ReadRule> ReadList(const YamlValue& list, const RuleFiles& files, ReadOthers read_others) {
  std::vector<ReadRule> rules;
  list.List([&](const YamlValue& item) {
    ReadRule& read = rules.emplace_back(ReadRule{item, {}});
    item.Map([&](YamlMap& map) {
      ReadConditions(map, files, &read.rule);
      read_others(map, &read.rule);
    });
  });
  if (list.is_list() && rules.empty()) list.Error("found an empty list, expected at least one rule");
  if (rules.size() > kMostRules)
    rules[kMostRules].value.Error("found more than " + std::to_string(kMostRules) + " rules");
  return rules;
}

void ReadAge(const YamlValue& value, RetentionRule* rule) {
  std::optional<uint64_t> seconds;
  const bool is_read = ReadSpan(value, &seconds);
  rule->older_than_s = seconds.value_or(0);
  if (is_read && *seconds < kLeastAge)
    value.Error("found less than a minute; to take such events not at all, use relay.write.deny");
}

std::vector<ReadRule> ReadKeep(const YamlValue& list, const RuleFiles& files) {
  std::vector<ReadRule> rules =
      ReadList(list, files, [](YamlMap& map, RetentionRule* rule) { ReadRung(map.Optional("from"), &rule->from); });
  for (const auto& [value, rule] : rules)
    if (value.is_map() && rule.is_about_all())
      value.Error(
          "keeps every event, so no other rule and no disk budget could remove any; expected kinds, authors "
          "or from");
  return rules;
}

std::vector<ReadRule> ReadRemove(const YamlValue& list, const RuleFiles& files) {
  return ReadList(list, files, [](YamlMap& map, RetentionRule* rule) {
    ReadRung(map.Optional("below"), &rule->below);
    const YamlValue age = map.Required("older_than");
    ReadAge(age, rule);
    const YamlValue all = map.Optional("all");
    bool is_all = false;
    all.Read(&is_all);
    if (all && !is_all) all.Error("found false, expected true, or no `all`");
    if (is_all && !rule->is_about_all()) all.Error("has no effect, because the rule names kinds, authors or a rung");
    if (!is_all && rule->is_about_all())
      age.Error(
          "is the only condition, so in the end every event is removed; say `all: true` if that is meant, or add "
          "kinds, "
          "authors or below");
  });
}

// Refuses a rule whose events another one removes earlier, or keeps.
void RefuseUseless(const std::vector<ReadRule>& keep, const std::vector<ReadRule>& remove) {
  const auto covers = [](const RetentionRule& wide, const RetentionRule& narrow) {
    return wide.kinds.Contains(narrow.kinds) && wide.authors.empty() && !wide.asks_for_standing();
  };
  for (size_t i = 0; i < remove.size(); ++i) {
    const auto& [value, rule] = remove[i];
    if (rule.kinds.empty()) continue;  // an error that was reported
    for (size_t k = 0; k < keep.size(); ++k)
      if (covers(keep[k].rule, rule))
        value.Error("removes nothing, because " + NameOfKeep(k) + " keeps all its events");
    for (size_t k = 0; k < remove.size(); ++k) {
      const RetentionRule& other = remove[k].rule;
      const bool is_earlier =
          other.older_than_s < rule.older_than_s || (other.older_than_s == rule.older_than_s && k < i);
      if (k != i && is_earlier && covers(other, rule))
        value.Error("removes nothing, because " + NameOfRemove(k) + " removes all its events earlier");
    }
  }
}

std::vector<RetentionRule> Only(std::vector<ReadRule> read) {
  std::vector<RetentionRule> rules;
  for (ReadRule& one : read) rules.push_back(std::move(one.rule));
  return rules;
}

}  // namespace

RetentionRules ReadRetention(const YamlValue& value, const RuleFiles& files) {
  RetentionRules rules;
  value.Map([&](YamlMap& map) {
    std::vector<ReadRule> keep = ReadKeep(map.Optional("keep"), files);
    std::vector<ReadRule> remove = ReadRemove(map.Optional("remove"), files);
    RefuseUseless(keep, remove);
    rules = {Only(std::move(keep)), Only(std::move(remove))};
  });
  return rules;
}

}  // namespace weir
