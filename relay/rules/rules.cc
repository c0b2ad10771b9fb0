#include "relay/rules/rules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/text/name_hash.h"
#include "relay/nostr/content.h"
#include "relay/nostr/gift_wrap.h"
#include "relay/rules/describe_rules.h"
#include "relay/rules/proof_of_work.h"

namespace weir {
namespace {

constexpr std::string_view kWrite = "relay.write.";
constexpr std::string_view kRead = "relay.read.";
constexpr std::string_view kPasses = "passes";

bool HasAny(const KeySet& set, std::span<const PublicKey> keys) {
  return std::ranges::any_of(keys, [&](const PublicKey& key) { return set.Has(key); });
}

bool IsAgainstSpam(RuleKind kind) { return kind >= RuleKind::kTags; }

bool IsEmpty(const RuleList& list) {
  return list.readers.empty() && list.authors.empty() && list.kinds.empty() && list.addresses.empty() &&
         list.tags.empty() && list.words == nullptr;
}

// The name of a rule, which becomes a text only when it is shown.
struct RuleName {
  std::string_view section;
  std::string_view name;
  std::optional<size_t> index = std::nullopt;

  std::string Text() const {
    return std::string(section) + std::string(name) + (index ? "[" + std::to_string(*index) + "]" : "");
  }
};

// Returns "PREFIX: SENTENCE (RULE)".
std::string Reason(std::string_view prefix, std::string_view sentence, const RuleName& rule) {
  std::string reason(prefix);
  return reason.append(": ").append(sentence).append(" (").append(rule.Text()).append(")");
}

std::string RefusalOfAge(const AgeRule& rule, uint64_t created_at, uint64_t now, const RuleName& name) {
  const auto refusal = [&](uint64_t apart, std::string_view where, uint64_t allowed) {
    return Reason("invalid",
                  "created_at is " + InWordsOf(apart) + std::string(where) + InWordsOf(allowed) + " are allowed", name);
  };
  if (rule.newest_s && created_at > now && created_at - now > *rule.newest_s)
    return refusal(created_at - now, " in the future; ", *rule.newest_s);
  if (rule.oldest_s && created_at < now && now - created_at > *rule.oldest_s)
    return refusal(now - created_at, " ago; ", *rule.oldest_s);
  return "";
}

// `found` is the index of a word in the content.
std::string RefusalOfWords(std::optional<size_t> found) {
  if (!found) return "";
  return Reason("blocked", "the content has words that are not taken", {kWrite, "deny.words", found});
}

template <typename Value>
void AppendBytes(const Value& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns the hash of the author, address or kind that the rule counts.
uint64_t HashOfCounted(const RateRule& rule, EventView event, const RuleClient& sender) {
  std::string bytes;
  if (rule.by == RateBy::kAuthor) AppendBytes(event.pubkey(), &bytes);
  if (rule.by == RateBy::kAddress) AppendBytes(ClientAddressOf(sender.address.value_or(AddressBytes{})), &bytes);
  if (rule.by == RateBy::kKind) AppendBytes(event.kind(), &bytes);
  return HashOfName(bytes);
}

std::shared_ptr<RateCounts> CountsOf(const RateRule& rule, const Rules* before) {
  if (before != nullptr)
    for (const RateRule& old : before->set().rates)
      if (old.IsSame(rule)) return old.counts;
  return std::make_shared<RateCounts>(rule.rate);
}

}  // namespace

Rules::Rules(RuleSet set, const Rules* before) : set_(std::move(set)) {
  judges_writes_ = !IsEmpty(set_.allow_write) || !IsEmpty(set_.deny_write) || !set_.rates.empty() ||
                   !set_.work.empty() || !set_.ages.empty();
  judges_reads_ = !IsEmpty(set_.allow_read) || !IsEmpty(set_.deny_read);
  for (RateRule& rule : set_.rates) rule.counts = CountsOf(rule, before);
  const auto hides = [](const RuleList& list) {
    return !list.authors.empty() || !list.kinds.empty() || !list.tags.empty();
  };
  hides_ = hides(set_.allow_read) || hides(set_.deny_read);
}

bool Rules::IsExempt(EventView event, const RuleClient& sender) const {
  const RuleSet::Exempt& exempt = set_.exempt;
  return exempt.kinds.Has(event.kind()) || exempt.authors.Has(event.pubkey()) ||
         (HasThrowAwayAuthor(event.kind()) && HasAny(exempt.authors, sender.proved));
}

template <typename Visit>
void Rules::VisitWriteRules(EventView event, const RuleClient& sender, uint64_t now_seconds, Visit visit) const {
  const RuleList& allow = set_.allow_write;
  const RuleList& deny = set_.deny_write;
  const uint16_t kind = event.kind();
  const auto rule = [&](bool exists, RuleKind of, std::string_view name, bool refuses, std::string_view prefix,
                        std::string_view sentence) {
    const RuleName full_name{kWrite, name};
    return !exists || visit(of, full_name, [&] { return refuses ? Reason(prefix, sentence, full_name) : ""; });
  };
  const auto is_from = [&](const AddressSet& set) { return sender.address && set.Has(*sender.address); };
  const bool throws_away = HasThrowAwayAuthor(kind);
  const auto is_allowed_author = [&] {
    return sender.is_allowed || allow.authors.Has(event.pubkey()) || allow.open_kinds.Has(kind) ||
           (throws_away && HasAny(allow.authors, sender.proved));
  };
  const auto is_denied_author = [&] { return deny.authors.Has(event.pubkey()) || HasAny(deny.authors, sender.proved); };
  const bool may_prove = throws_away && sender.proved.empty();
  const bool goes_on = rule(!deny.addresses.empty(), RuleKind::kAddresses, "deny.addresses", is_from(deny.addresses),
                            "blocked", "events from your address are not taken") &&
                       rule(!allow.addresses.empty(), RuleKind::kAddresses, "allow.addresses",
                            !is_from(allow.addresses), "restricted", "only events from listed addresses are taken") &&
                       rule(!deny.kinds.empty(), RuleKind::kKinds, "deny.kinds", deny.kinds.Has(kind), "blocked",
                            "events of this kind are not taken") &&
                       rule(!allow.kinds.empty(), RuleKind::kKinds, "allow.kinds", !allow.kinds.Has(kind), "restricted",
                            "only events of listed kinds are taken") &&
                       rule(!deny.authors.empty(), RuleKind::kAuthors, "deny.authors", is_denied_author(), "blocked",
                            "events of this author are not taken") &&
                       rule(!allow.authors.empty(), RuleKind::kAuthors, "allow.authors", !is_allowed_author(),
                            may_prove ? "auth-required" : "restricted",
                            throws_away ? "only clients that have proved a listed key may send this kind"
                                        : "only events of listed authors are taken");
  if (goes_on) VisitSpamRules(event, now_seconds, visit);
}

template <typename Visit>
void Rules::VisitSpamRules(EventView event, uint64_t now_seconds, Visit visit) const {
  const uint16_t kind = event.kind();
  for (size_t i = 0; i < set_.ages.size(); ++i) {
    const AgeRule& rule = set_.ages[i];
    const RuleName name{kWrite, "age", i};
    const auto check = [&] { return RefusalOfAge(rule, event.created_at(), now_seconds, name); };
    if (rule.kinds.Has(kind) && !visit(RuleKind::kAge, name, check)) return;
  }
  const RuleName tags{kWrite, "deny.tags"};
  const auto check_tags = [&] {
    return set_.deny_write.tags.Match(event) ? Reason("blocked", "events with a tag of this event are not taken", tags)
                                             : "";
  };
  if (!set_.deny_write.tags.empty() && !visit(RuleKind::kTags, tags, check_tags)) return;
  for (size_t i = 0; i < set_.work.size(); ++i) {
    const WorkRule& rule = set_.work[i];
    const RuleName name{kWrite, "proof_of_work", i};
    const auto check = [&] {
      const std::string refusal = RefusalOfWork(event, rule.bits);
      return refusal.empty() ? "" : refusal + " (" + name.Text() + ")";
    };
    if (rule.kinds.Has(kind) && !visit(RuleKind::kWork, name, check)) return;
  }
  if (set_.deny_write.words == nullptr) return;
  visit(RuleKind::kWords, {kWrite, "deny.words"},
        [&] { return RefusalOfWords(set_.deny_write.words->Find(ContentOf(event))); });
}

Ruling Rules::JudgeEvent(EventView event, const RuleClient& sender, uint64_t now_seconds) const {
  Ruling ruling;
  if (!judges_writes_) return ruling;
  const bool exempt = IsExempt(event, sender);
  VisitWriteRules(event, sender, now_seconds, [&](RuleKind kind, const RuleName&, const auto& check) {
    if (kind == RuleKind::kWords || (exempt && IsAgainstSpam(kind))) return false;  // words come last
    ruling.reason = check();
    if (!ruling.reason.empty()) ruling.refused_by = kind;
    return ruling.reason.empty();
  });
  return ruling;
}

std::unique_ptr<WordSearch> Rules::SearchWords(EventView event, const RuleClient& sender) const {
  if (set_.deny_write.words == nullptr || IsExempt(event, sender)) return nullptr;
  return std::make_unique<WordSearch>(set_.deny_write.words, ContentOf(event));
}

Ruling Rules::JudgeWords(const WordSearch& search) {
  if (!search.found()) return {};
  return {RuleKind::kWords, RefusalOfWords(search.found())};
}

std::vector<RuleOutcome> Rules::Explain(EventView event, const RuleClient& sender, uint64_t now_seconds) const {
  std::vector<RuleOutcome> outcomes;
  const bool exempt = IsExempt(event, sender);
  VisitWriteRules(event, sender, now_seconds, [&](RuleKind kind, const RuleName& name, const auto& check) {
    if (exempt && IsAgainstSpam(kind)) {
      outcomes.push_back({name.Text(), "exempt"});
      return true;
    }
    std::string reason = check();
    const bool refused = !reason.empty();
    outcomes.push_back({name.Text(), refused ? std::move(reason) : std::string(kPasses), refused});
    return true;
  });
  for (size_t i = 0; i < set_.rates.size(); ++i) {
    if (!set_.rates[i].kinds.Has(event.kind())) continue;
    outcomes.push_back({RuleName{kWrite, "rates", i}.Text(), exempt ? "exempt" : RateInWords(set_.rates[i])});
  }
  return outcomes;
}

Ruling Rules::TakeRates(EventView event, const RuleClient& sender, TimePoint now) const {
  if (set_.rates.empty() || sender.is_allowed || IsExempt(event, sender)) return {};
  std::vector<std::pair<RateCounts*, uint64_t>> taken;
  for (size_t i = 0; i < set_.rates.size(); ++i) {
    const RateRule& rule = set_.rates[i];
    if (!rule.kinds.Has(event.kind()) || (rule.below && sender.rung >= *rule.below)) continue;
    const uint64_t counted = HashOfCounted(rule, event, sender);
    const Duration wait = rule.counts->Take(counted, now);
    if (wait == Duration::zero()) {
      taken.emplace_back(rule.counts.get(), counted);
      continue;
    }
    for (const auto& [counts, hash] : taken) counts->GiveBack(hash);
    return {RuleKind::kRates, Reason("rate-limited", RateInWords(rule), {kWrite, "rates", i}) + "; try again in " +
                                  std::to_string(static_cast<uint64_t>(std::ceil(ToSeconds(wait)))) + " s"};
  }
  return {};
}

bool Rules::IsHiddenKind(uint16_t kind) const {
  return set_.deny_read.kinds.Has(kind) || (!set_.allow_read.kinds.empty() && !set_.allow_read.kinds.Has(kind));
}

bool Rules::IsHiddenAuthor(const PublicKey& key) const {
  return set_.deny_read.authors.Has(key) || (!set_.allow_read.authors.empty() && !set_.allow_read.authors.Has(key));
}

bool Rules::MaySee(EventView event) const {
  if (!hides_) return true;
  return !IsHiddenKind(event.kind()) && !IsHiddenAuthor(event.pubkey()) && !set_.deny_read.tags.Match(event);
}

bool Rules::MayHide(std::span<const Filter> filters) const {
  if (!hides_) return false;
  if (!set_.deny_read.tags.empty()) return true;
  const bool hides_kinds = !set_.deny_read.kinds.empty() || !set_.allow_read.kinds.empty();
  const bool hides_authors = !set_.deny_read.authors.empty() || !set_.allow_read.authors.empty();
  return std::ranges::any_of(filters, [&](const Filter& filter) {
    const auto hidden_kind = [this](uint16_t kind) { return IsHiddenKind(kind); };
    const auto hidden_author = [this](const PublicKey& key) { return IsHiddenAuthor(key); };
    return (hides_kinds && (!filter.kinds || std::ranges::any_of(*filter.kinds, hidden_kind))) ||
           (hides_authors && (!filter.authors || std::ranges::any_of(*filter.authors, hidden_author)));
  });
}

Ruling Rules::JudgeReader(const RuleClient& reader) const {
  const RuleList& allow = set_.allow_read;
  const RuleList& deny = set_.deny_read;
  const auto is_from = [&](const AddressSet& set) { return reader.address && set.Has(*reader.address); };
  const auto refusal = [](RuleKind kind, std::string_view prefix, std::string_view sentence, std::string_view name) {
    return Ruling{kind, Reason(prefix, sentence, {kRead, name})};
  };
  if (is_from(deny.addresses))
    return refusal(RuleKind::kAddresses, "blocked", "clients at your address may not read", "deny.addresses");
  if (!allow.addresses.empty() && !is_from(allow.addresses))
    return refusal(RuleKind::kAddresses, "restricted", "only clients at listed addresses may read", "allow.addresses");
  if (HasAny(deny.readers, reader.proved))
    return refusal(RuleKind::kReaders, "blocked", "the owner of your key may not read", "deny.readers");
  if (!allow.readers.empty() && !HasAny(allow.readers, reader.proved))
    return refusal(RuleKind::kReaders, reader.proved.empty() ? "auth-required" : "restricted",
                   "only clients that have proved a listed key may read", "allow.readers");
  return {};
}

Ruling Rules::JudgeRead(std::span<const Filter> filters, const RuleClient& reader) const {
  if (!judges_reads_) return {};
  Ruling ruling = JudgeReader(reader);
  if (ruling.refused() || !hides_ || filters.empty()) return ruling;
  const auto hides_kinds = [this](const Filter& filter) {
    return filter.kinds && !filter.kinds->empty() &&
           std::ranges::all_of(*filter.kinds, [this](uint16_t kind) { return IsHiddenKind(kind); });
  };
  const auto hides_authors = [this](const Filter& filter) {
    return filter.authors && !filter.authors->empty() &&
           std::ranges::all_of(*filter.authors, [this](const PublicKey& key) { return IsHiddenAuthor(key); });
  };
  const auto hides = [&](const Filter& filter) { return hides_kinds(filter) || hides_authors(filter); };
  if (!std::ranges::all_of(filters, hides)) return ruling;
  const Filter& first = filters.front();
  if (hides_kinds(first)) {
    const bool denied = set_.deny_read.kinds.Has(first.kinds->front());
    return {RuleKind::kKinds,
            Reason("blocked", "events of these kinds are not shown", {kRead, denied ? "deny.kinds" : "allow.kinds"})};
  }
  const bool denied = set_.deny_read.authors.Has(first.authors->front());
  return {RuleKind::kAuthors, Reason("blocked", "events of these authors are not shown",
                                     {kRead, denied ? "deny.authors" : "allow.authors"})};
}

RuleLimits Rules::limits() const {
  RuleLimits limits;
  limits.restricts_writes = !IsEmpty(set_.allow_write);
  limits.readers_need_auth = !set_.allow_read.readers.empty();
  const KindSet judged = KindSet::All() - set_.exempt.kinds;
  for (const WorkRule& rule : set_.work) {
    if (!rule.kinds.Contains(judged)) continue;
    limits.restricts_writes = true;
    limits.least_work_bits = std::max(limits.least_work_bits, rule.bits);
  }
  for (const AgeRule& rule : set_.ages) {
    if (!rule.kinds.Contains(judged)) continue;
    if (rule.oldest_s) limits.oldest_s = std::min(limits.oldest_s.value_or(UINT64_MAX), *rule.oldest_s);
    if (rule.newest_s) limits.newest_s = std::min(limits.newest_s.value_or(UINT64_MAX), *rule.newest_s);
  }
  limits.retention = TermsOf(set_.retention);
  return limits;
}

}  // namespace weir
