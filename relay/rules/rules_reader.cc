#include "relay/rules/rules_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "config/text/parse.h"
#include "relay/limiters/config_file.h"
#include "relay/rules/describe_rules.h"
#include "relay/rules/retention_reader.h"
#include "relay/rules/rule_values.h"

namespace weir {
namespace {

constexpr size_t kMostRates = 16;

// Reads "30/minute".
bool ReadRate(std::string_view text, Rate* rate) {
  static const std::vector<std::string> kUnits = {"second", "minute", "hour", "day"};
  static constexpr std::array<std::chrono::seconds, 4> kLengths = {std::chrono::seconds(1), std::chrono::minutes(1),
                                                                   std::chrono::hours(1), std::chrono::hours(24)};
  const size_t slash = text.find('/');
  if (slash == text.npos) return false;
  const Result<uint64_t> events =
      ParseUnsigned(text.substr(0, slash), {.min = 1, .max = static_cast<double>(Rate::kMostEvents)});
  const Result<size_t> unit = ParseWord(text.substr(slash + 1), kUnits);
  if (!events.ok() || !unit.ok()) return false;
  *rate = {.events = events.value(), .per = kLengths[unit.value()]};
  return true;
}

class SectionReader {
 public:
  SectionReader(std::string directory, std::vector<std::string>* files) : files_{std::move(directory), *files} {}

  void Read(const YamlValue& section) {
    section.Map([&](YamlMap& map) {
      map.Optional("write").Map([&](YamlMap& write) { ReadWrite(write); });
      map.Optional("read").Map([&](YamlMap& read) { ReadRead(read); });
      set_.retention = ReadRetention(map.Optional("retention"), files_);
    });
    if (!set_.allow_write.kinds.empty()) RefuseUseless("relay.write", allowed_write_kinds_, denied_write_kinds_);
    if (!set_.allow_read.kinds.empty()) RefuseUseless("relay.read", allowed_read_kinds_, denied_read_kinds_);
    RefuseRulesWithoutEvents();
    for (const OfKinds& open : open_kinds_)
      if ((open.kinds & TakenKinds()).empty()) open.value.Error("found kinds that are denied or not allowed");
  }
  RuleSet& set() { return set_; }

 private:
  void ReadWrite(YamlMap& map) {
    map.Optional("allow").Map([&](YamlMap& allow) {
      ReadAuthorsAndKinds(allow, &set_.allow_write, &allowed_write_kinds_);
      const YamlValue open = allow.Optional("open_kinds");
      ReadKinds(open, &set_.allow_write.open_kinds, &open_kinds_);
      if (open && set_.allow_write.authors.empty())
        open.Error("has no effect, because without authors in the list all may write");
    });
    map.Optional("deny").Map([&](YamlMap& deny) {
      ReadAuthorsAndKinds(deny, &set_.deny_write, &denied_write_kinds_);
      const YamlValue tags = deny.Optional("tags");
      ReadTags(tags, &set_.deny_write.tags);
      const YamlValue words = deny.Optional("words");
      ReadWords(words);
      if (tags) spam_rules_.push_back({tags, KindSet::All()});
      if (words) spam_rules_.push_back({words, KindSet::All()});
    });
    const YamlValue exempt_value = map.Optional("exempt");
    exempt_value.Map([&](YamlMap& exempt) {
      if (const YamlValue kinds = exempt.Optional("kinds")) {
        set_.exempt.kinds = KindSet();
        KindItems items;
        ReadKinds(kinds, &set_.exempt.kinds, &items);
      }
      set_.exempt.authors = ReadKeys(exempt, "authors", files_);
    });
    ReadRules(map.Optional("rates"), &set_.rates, [&](YamlMap& rule, RateRule* rate) { ReadRateRule(rule, rate); });
    ReadRules(map.Optional("proof_of_work"), &set_.work, [](YamlMap& rule, WorkRule* work) {
      rule.Required("bits").Read(&work->bits, {.min = 1, .max = 256, .unit = "bits"});
    });
    ReadRules(map.Optional("age"), &set_.ages, [](YamlMap& rule, AgeRule* age) {
      const YamlValue oldest = rule.Optional("oldest");
      ReadSpan(oldest, &age->oldest_s);
      ReadSpan(rule.Optional("newest"), &age->newest_s);
    });
    RefuseTooManyRates();
    if (exempt_value && spam_rules_.empty())
      exempt_value.Error(
          "has no effect, because there are no tags, words, rates, proof of work or age to be exempt from");
  }

  void ReadRead(YamlMap& map) {
    const auto read = [&](YamlMap& list, RuleList* into, KindItems* kinds) {
      into->readers = ReadKeys(list, "readers", files_);
      ReadAuthorsAndKinds(list, into, kinds);
    };
    map.Optional("allow").Map([&](YamlMap& allow) { read(allow, &set_.allow_read, &allowed_read_kinds_); });
    map.Optional("deny").Map([&](YamlMap& deny) {
      read(deny, &set_.deny_read, &denied_read_kinds_);
      ReadTags(deny.Optional("tags"), &set_.deny_read.tags);
    });
  }

  void ReadAuthorsAndKinds(YamlMap& map, RuleList* list, KindItems* kinds) {
    list->authors = ReadKeys(map, "authors", files_);
    ReadKinds(map.Optional("kinds"), &list->kinds, kinds);
    std::vector<AddressRange> ranges;
    ReadTexts(map.Optional("addresses"), [&](const YamlValue& item, const std::string& text) {
      const Result<AddressRange> range = ParseNetwork(text);
      if (!range.ok()) return item.Error(NotExpected(text, range.status().message()));
      ranges.push_back(range.value());
    });
    list->addresses = AddressSet(std::move(ranges));
  }

  static void ReadTags(const YamlValue& map, TagSet* tags) {
    map.Entries([&](std::string_view name, const YamlValue& values) {
      const bool is_letter =
          name.size() == 1 && ((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z'));
      if (!is_letter)
        return values.Error("found the tag \"" + Printable(name) + "\", expected a tag whose name is one letter");
      ReadTexts(values, [&](const YamlValue& item, const std::string& text) {
        if ((name == "p" || name == "P") && text.starts_with("npub1"))
          return item.Error("found an npub, expected 64 hex digits, because tags have keys in that form");
        tags->Add(name[0], text);
      });
    });
    if (map.is_map() && tags->empty()) map.Error("found no tag with a value, expected one such as t: [casino]");
  }

  void ReadWords(const YamlValue& list) {
    std::vector<std::string> words;
    ReadTexts(list, [&](const YamlValue& item, const std::string& text) {
      const Status status = WordSet::CheckExpression(text);
      if (!status.ok()) return item.Error(NotExpected(text, status.message()));
      if (std::ranges::find(words, text) != words.end())
        return item.Error("found an expression that the list has already");
      words.push_back(text);
    });
    if (!words.empty()) set_.deny_write.words = std::make_shared<WordSet>(std::move(words));
  }

  // Reads a list of rules, each of which may have `kinds`.
  template <typename Rule, typename ReadOthers>
  void ReadRules(const YamlValue& list, std::vector<Rule>* rules, ReadOthers read_others) {
    list.List([&](const YamlValue& item) {
      Rule& rule = rules->emplace_back();
      item.Map([&](YamlMap& map) {
        read_others(map, &rule);
        if (const YamlValue kinds = map.Optional("kinds")) {
          KindItems items;
          rule.kinds = KindSet();
          ReadKinds(kinds, &rule.kinds, &items);
        }
      });
      if constexpr (std::is_same_v<Rule, AgeRule>) {
        if (item.is_map() && !rule.oldest_s && !rule.newest_s)
          item.Error("found neither oldest nor newest, expected one");
      }
      if constexpr (std::is_same_v<Rule, RateRule>) rate_values_.push_back(item);
      spam_rules_.push_back({item, rule.kinds});
    });
    if (list.is_list() && rules->empty()) list.Error("found an empty list, expected at least one item");
  }

  static void ReadRateRule(YamlMap& map, RateRule* rule) {
    map.Required("by").Read(&rule->by,
                            {{"author", RateBy::kAuthor}, {"address", RateBy::kAddress}, {"kind", RateBy::kKind}});
    ReadRung(map.Optional("below"), &rule->below);
    const YamlValue limit = map.Required("limit");
    std::string text;
    limit.Read(&text);
    if (!text.empty() && !ReadRate(text, &rule->rate))
      limit.Error("found \"" + Printable(text) +
                  "\", expected a rate such as 30/minute: 1 to 1000000 events a second, minute, hour or day");
  }

  // Two equal rates would count each event twice. Each rate has memory of its own (rate_counts.h).
  void RefuseTooManyRates() {
    if (rate_values_.size() > kMostRates)
      rate_values_[kMostRates].Error("found more than " + std::to_string(kMostRates) + " rates");
    for (size_t i = 0; i < set_.rates.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (set_.rates[i].IsSame(set_.rates[j])) {
          rate_values_[i].ErrorAgain("the same rate", rate_values_[j].line());
          break;
        }
      }
    }
  }

  // Refuses kinds that are both allowed and denied, and kinds that are denied without being allowed.
  static void RefuseUseless(const std::string& section, const KindItems& allowed, const KindItems& denied) {
    KindSet all_allowed;
    KindSet all_denied;
    for (const OfKinds& item : allowed) all_allowed = all_allowed | item.kinds;
    for (const OfKinds& item : denied) all_denied = all_denied | item.kinds;
    for (const OfKinds& item : allowed)
      if (all_denied.Contains(item.kinds))
        item.value.Error("found kinds that " + section + ".deny.kinds denies, so they are not allowed");
    for (const OfKinds& item : denied)
      if ((all_allowed & item.kinds).empty())
        item.value.Error("found kinds that " + section + ".allow.kinds does not allow, so denying them has no effect");
  }

  KindSet TakenKinds() const {
    return (set_.allow_write.kinds.empty() ? KindSet::All() : set_.allow_write.kinds) - set_.deny_write.kinds;
  }

  // Refuses a rule against spam that no event can meet, because its kinds are exempt or not taken.
  void RefuseRulesWithoutEvents() {
    const KindSet judged = TakenKinds() - set_.exempt.kinds;
    for (const OfKinds& rule : spam_rules_)
      if (!rule.kinds.empty() && (rule.kinds & judged).empty())
        rule.value.Error("applies to no event: its kinds are exempt (relay.write.exempt.kinds), denied or not allowed");
  }

  const RuleFiles files_;
  RuleSet set_;
  KindItems allowed_write_kinds_, denied_write_kinds_, allowed_read_kinds_, denied_read_kinds_;
  KindItems open_kinds_;
  KindItems spam_rules_;  // the rules that RuleSet::Exempt exempts from
  std::vector<YamlValue> rate_values_;
};

}  // namespace

Result<RulesRead> ReadRules(const std::string& path, std::vector<std::string>* files, const RulesRead* running) {
  RulesRead read;
  if (path.empty()) return read;
  *files = {path};
  SectionReader reader(std::filesystem::path(path).parent_path().string(), files);
  const Status status = ReadConfigSection(path, "relay", [&](const YamlValue& section) {
    read.has_section = true;
    reader.Read(section);
  });
  if (!status.ok()) return status;
  if (running != nullptr && running->has_section && !read.has_section)
    return Status::Error(path + " has no relay: any more; say `relay: {}` if there are to be no rules");
  if (const size_t rules = DescribeRules(reader.set()).size(); rules > 0)
    read.summary = std::to_string(rules) + (rules == 1 ? " rule" : " rules");
  read.rules = std::make_shared<Rules>(std::move(reader.set()), running != nullptr ? running->rules.get() : nullptr);
  return read;
}

}  // namespace weir
