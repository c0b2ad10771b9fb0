#include "relay/rules/describe_rules.h"

#include <string_view>

#include "config/text/in_words.h"
#include "config/text/parse.h"

namespace weir {
namespace {

std::string_view UnitInWords(Duration per) {
  if (per == std::chrono::seconds(1)) return "a second";
  if (per == std::chrono::minutes(1)) return "a minute";
  return per == std::chrono::hours(1) ? "an hour" : "a day";
}

std::string KindsInWords(const KindSet& kinds) {
  if (kinds == KindSet::All()) return "all kinds";
  const std::string words = kinds.InWords();
  return (words.find_first_not_of("0123456789") == words.npos ? "kind " : "kinds ") + words;
}

std::string SizeInWords(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

class Lines {
 public:
  explicit Lines(std::string section) : section_(std::move(section)) {}

  void Add(bool exists, std::string_view name, const std::string& text) {
    if (exists) lines_.push_back(section_ + std::string(name) + ": " + text);
  }
  void AddTo(std::vector<std::string>* all) { all->insert(all->end(), lines_.begin(), lines_.end()); }

 private:
  const std::string section_;
  std::vector<std::string> lines_;
};

void Describe(const std::string& section, const RuleList& list, bool allows, bool reads,
              std::vector<std::string>* all) {
  const std::string only = allows ? "only " : "no ";
  const std::string taken = reads ? " are shown" : " are taken";
  Lines lines(section);
  lines.Add(!list.readers.empty(), "readers",
            only + (allows ? "clients" : "client") + " that " + (allows ? "have" : "has") + " proved one of " +
                SizeInWords(list.readers.size(), "key") + " may read");
  lines.Add(!list.addresses.empty(), "addresses",
            only + (reads ? "clients at " : "events from ") + SizeInWords(list.addresses.size(), "range") +
                " of addresses" + (reads ? " may read" : taken));
  lines.Add(!list.kinds.empty(), "kinds", only + "events of " + KindsInWords(list.kinds) + taken);
  lines.Add(!list.authors.empty(), "authors", only + "events of " + SizeInWords(list.authors.size(), "author") + taken);
  lines.Add(!list.tags.empty(), "tags", only + "events with one of " + SizeInWords(list.tags.size(), "tag") + taken);
  lines.Add(!list.open_kinds.empty(), "open_kinds",
            "events of " + KindsInWords(list.open_kinds) + " are taken from all authors");
  lines.Add(list.words != nullptr, "words",
            only + "events whose content matches one of " +
                SizeInWords(list.words ? list.words->expressions().size() : 0, "expression") + taken);
  lines.AddTo(all);
}

void Describe(const RetentionRules& rules, std::vector<std::string>* all) {
  const auto events_of = [](const RetentionRule& rule) {
    const std::string authors = rule.authors.empty() ? "" : " by one of " + SizeInWords(rule.authors.size(), "author");
    const std::string from =
        rule.from ? " by authors who stand at " + std::string(NameOf(*rule.from)) + " or above" : "";
    const std::string below = rule.below ? " by authors who stand below " + std::string(NameOf(*rule.below)) : "";
    return "events of " + KindsInWords(rule.kinds) + authors + from + below;
  };
  for (size_t i = 0; i < rules.keep.size(); ++i)
    all->push_back(NameOfKeep(i) + ": " + events_of(rules.keep[i]) + " are never removed");
  for (size_t i = 0; i < rules.remove.size(); ++i)
    all->push_back(NameOfRemove(i) + ": " + events_of(rules.remove[i]) + " are removed when they are " +
                   InWordsOf(rules.remove[i].older_than_s) + " old");
}

}  // namespace

std::string InWordsOf(uint64_t seconds) { return InWords(static_cast<double>(seconds)); }

std::string RateInWords(const RateRule& rule) {
  static constexpr std::string_view kOf[] = {"of one author", "from one address", "of one kind"};
  return "at most " + SizeInWords(rule.rate.events, "event") + " " + std::string(kOf[static_cast<size_t>(rule.by)]) +
         " " + std::string(UnitInWords(rule.rate.per)) + ", " + KindsInWords(rule.kinds) +
         (rule.below ? ", of authors who stand below " + std::string(NameOf(*rule.below)) : "");
}

std::vector<std::string> DescribeRules(const RuleSet& set) {
  std::vector<std::string> all;
  Describe("relay.write.allow.", set.allow_write, true, false, &all);
  Describe("relay.write.deny.", set.deny_write, false, false, &all);
  Lines lines("relay.write.");
  const auto at = [](std::string_view name, size_t i) { return std::string(name) + "[" + std::to_string(i) + "]"; };
  for (size_t i = 0; i < set.rates.size(); ++i) lines.Add(true, at("rates", i), RateInWords(set.rates[i]));
  for (size_t i = 0; i < set.work.size(); ++i)
    lines.Add(true, at("proof_of_work", i),
              std::to_string(set.work[i].bits) + " leading zero bits in the id, " + KindsInWords(set.work[i].kinds));
  for (size_t i = 0; i < set.ages.size(); ++i) {
    const AgeRule& rule = set.ages[i];
    std::vector<std::string> parts;
    if (rule.oldest_s) parts.push_back("at most " + InWordsOf(*rule.oldest_s) + " old");
    if (rule.newest_s) parts.push_back("at most " + InWordsOf(*rule.newest_s) + " in the future");
    parts.push_back(KindsInWords(rule.kinds));
    lines.Add(true, at("age", i), Join(parts, ", "));
  }
  const bool against_spam = !set.deny_write.tags.empty() || set.deny_write.words != nullptr || !set.rates.empty() ||
                            !set.work.empty() || !set.ages.empty();
  lines.Add(against_spam && !set.exempt.kinds.empty(), "exempt.kinds",
            KindsInWords(set.exempt.kinds) + " exempt from tags, words, rates, proof of work and age");
  lines.Add(!set.exempt.authors.empty(), "exempt.authors",
            SizeInWords(set.exempt.authors.size(), "author") + " exempt from the same");
  lines.AddTo(&all);
  Describe("relay.read.allow.", set.allow_read, true, true, &all);
  Describe("relay.read.deny.", set.deny_read, false, true, &all);
  Describe(set.retention, &all);
  return all;
}

}  // namespace weir
