#include "relay/rules/retention_rules.h"

#include <algorithm>

#include "config/text/in_words.h"

namespace weir {
namespace {

// Filters with more values are slower than looking at every event of that age.
constexpr size_t kMostFilterValues = 500;

std::string AgeInWords(uint64_t seconds) { return InWords(static_cast<double>(seconds)); }

std::optional<size_t> FirstAbout(const std::vector<RetentionRule>& rules, EventView event, Rung rung) {
  for (size_t i = 0; i < rules.size(); ++i)
    if (rules[i].IsAbout(event, rung)) return i;
  return std::nullopt;
}

}  // namespace

bool RetentionRule::IsAbout(EventView event, Rung rung) const {
  return kinds.Has(event.kind()) && (authors.empty() || authors.Has(event.pubkey())) && (!from || rung >= *from) &&
         (!below || rung < *below);
}

Filter RetentionRule::Candidates(uint64_t now_seconds) const {
  Filter filter;
  filter.until = now_seconds - std::min(now_seconds, older_than_s);
  std::vector<uint16_t> numbers;
  kinds.ForEachRange([&](uint16_t first, uint16_t last) {
    for (size_t kind = first; kind <= last && numbers.size() <= kMostFilterValues; ++kind)
      numbers.push_back(static_cast<uint16_t>(kind));
  });
  if (numbers.size() <= kMostFilterValues) filter.kinds = std::move(numbers);
  if (!authors.empty() && authors.size() <= kMostFilterValues) filter.authors = authors.keys();
  return filter;
}

bool RetentionRules::AsksForStanding() const {
  return std::ranges::any_of(keep, &RetentionRule::asks_for_standing) ||
         std::ranges::any_of(remove, &RetentionRule::asks_for_standing);
}

std::optional<size_t> RetentionRules::KeptBy(EventView event, Rung rung) const { return FirstAbout(keep, event, rung); }

std::optional<size_t> RetentionRules::RemovedBy(EventView event, Rung rung, uint64_t now_seconds) const {
  for (size_t i = 0; i < remove.size(); ++i) {
    if (!remove[i].IsOld(event, now_seconds) || !remove[i].IsAbout(event, rung)) continue;
    return KeptBy(event, rung) ? std::nullopt : std::optional(i);
  }
  return std::nullopt;
}

std::string RetentionRules::Explain(EventView event, Rung rung, uint64_t now_seconds) const {
  if (const std::optional<size_t> by = KeptBy(event, rung)) return NameOfKeep(*by) + ": kept";
  // The rule with the lowest age removes the event first.
  std::optional<size_t> first;
  for (size_t i = 0; i < remove.size(); ++i)
    if (remove[i].IsAbout(event, rung) && (!first || remove[i].older_than_s < remove[*first].older_than_s)) first = i;
  if (!first) return "relay.retention: no rule removes it";
  const uint64_t age = remove[*first].older_than_s;
  if (remove[*first].IsOld(event, now_seconds))
    return NameOfRemove(*first) + ": removed, because it is older than " + AgeInWords(age);
  return NameOfRemove(*first) + ": removed when it is " + AgeInWords(age) + " old, in " +
         AgeInWords(event.created_at() + age - now_seconds);
}

std::string NameOfKeep(size_t index) { return "relay.retention.keep[" + std::to_string(index) + "]"; }
std::string NameOfRemove(size_t index) { return "relay.retention.remove[" + std::to_string(index) + "]"; }

std::vector<RetentionTerm> TermsOf(const RetentionRules& rules) {
  std::vector<RetentionTerm> terms;
  KindSet kept;
  for (const RetentionRule& rule : rules.keep) {
    if (!rule.authors.empty() || rule.asks_for_standing()) continue;
    terms.push_back({rule.kinds - kept, std::nullopt});
    kept = kept | rule.kinds;
  }
  for (const RetentionRule& rule : rules.remove)
    if (rule.authors.empty())
      terms.push_back({rule.kinds == KindSet::All() ? rule.kinds : rule.kinds - kept, rule.older_than_s});
  std::erase_if(terms, [](const RetentionTerm& term) { return term.kinds.empty(); });
  return terms;
}

}  // namespace weir
