// Rules: the operator's rules about which events clients may write and which they may read. Rules never change after
// their construction, except for the counts of the rates, so any thread may use them; RulesInForce (rules_in_force.h)
// exchanges them while the relay runs.
//
// A rule has a name, the path of its value in weir.yaml, such as relay.write.deny.words[2]. Every refusal is one
// sentence with NIP-01's prefix before it and the name behind it:
//
//   blocked       the event is in a list of `deny`
//   restricted    the event, or its sender, is not in a list of `allow`
//   auth-required the same, but the client has proved no key, and a listed key would help
//   pow, invalid, rate-limited   proof of work, age, rates
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/rules/address_set.h"
#include "relay/rules/key_set.h"
#include "relay/rules/kind_set.h"
#include "relay/rules/rate_counts.h"
#include "relay/rules/retention_rules.h"
#include "relay/rules/rung.h"
#include "relay/rules/tag_set.h"
#include "relay/rules/word_set.h"

namespace weir {

// A list of `allow` or `deny`. An empty member is no rule. An event must match every member of `allow` that is not
// empty, and no member of `deny`; a ban list is a list of `deny`.
struct RuleList {
  KeySet readers;        // keys that a reader proves by AUTH; only for reading
  KeySet authors;        // authors of events
  KindSet kinds;         // kinds of events
  KindSet open_kinds;    // kinds of which `authors` need not have the author; only in `allow` for writing
  AddressSet addresses;  // addresses of clients
  TagSet tags;           // only in `deny`
  std::shared_ptr<const WordSet> words;  // only in `deny` for writing; null if there are none
};

enum class RateBy : uint8_t { kAuthor, kAddress, kKind };
struct RateRule {
  RateBy by = RateBy::kAuthor;
  Rate rate;
  KindSet kinds = KindSet::All();
  std::optional<Rung> below = std::nullopt;      // if it is set, the rate holds only for authors below this rung
  std::shared_ptr<RateCounts> counts = nullptr;  // set by the constructor of Rules

  bool IsSame(const RateRule& other) const {
    return by == other.by && rate == other.rate && kinds == other.kinds && below == other.below;
  }
};
struct WorkRule {
  uint64_t bits = 0;
  KindSet kinds = KindSet::All();
};
struct AgeRule {
  std::optional<uint64_t> oldest_s;  // the largest age of an event, in seconds
  std::optional<uint64_t> newest_s;  // the most seconds by which an event's date may lie in the future
  KindSet kinds = KindSet::All();
};

struct RuleSet {
  struct Exempt {
    Exempt() { kinds.Add(20'000, 29'999); }

    KindSet kinds;  // by default the ephemeral kinds, of which 24133 carries the requests to remote signers
    KeySet authors;
  };

  RuleList allow_write, deny_write;
  Exempt exempt;  // from the rules against spam: tags, words, age, proof of work and rates
  std::vector<RateRule> rates;
  std::vector<WorkRule> work;
  std::vector<AgeRule> ages;
  RuleList allow_read, deny_read;
  RetentionRules retention;
};

// The client that writes or reads.
struct RuleClient {
  std::span<const PublicKey> proved;  // the keys that it has proved by AUTH
  std::optional<AddressBytes> address = std::nullopt;
  bool is_allowed = false;      // allow.authors and rates do not hold (decided_lists.h)
  Rung rung = Rung::kStranger;  // that of the event's author; only rates ask for it
};

// The kinds of rules. Those from kTags on are against spam; RuleSet::Exempt exempts events from them.
enum class RuleKind : uint8_t { kAuthors, kKinds, kAddresses, kReaders, kEvents, kTags, kWords, kAge, kWork, kRates };
inline constexpr std::string_view kRuleKindNames[] = {"authors", "kinds", "addresses", "readers", "events",
                                                      "tags",    "words", "age",       "work",    "rates"};

// The decision of all rules: a refusal by the first rule that refuses, or none.
struct Ruling {
  std::optional<RuleKind> refused_by;
  std::string reason;  // with NIP-01's prefix; empty unless refused_by is set

  bool refused() const { return refused_by.has_value(); }
};

// The search of an event's content for words, the slowest of all rules; piece by piece, so that a thread can do
// something else in between. Not thread-safe.
class WordSearch {
 public:
  WordSearch(std::shared_ptr<const WordSet> words, std::string content)
      : words_(std::move(words)), content_(std::move(content)) {}

  // Searches a piece, in a few milliseconds at most. Returns true while there are further pieces, and no word was
  // found.
  bool Step() {
    if (IsOver()) return false;
    found_ = words_->FindSome(content_, &place_);
    return !IsOver();
  }
  std::optional<size_t> found() const { return found_; }  // the index of the expression

 private:
  bool IsOver() const { return found_ || words_->IsOver(place_); }

  const std::shared_ptr<const WordSet> words_;
  const std::string content_;
  WordSet::Place place_;
  std::optional<size_t> found_;
};

// The decision of one rule, for a person who asks why.
struct RuleOutcome {
  std::string rule;
  std::string outcome;  // "passes", "exempt", or the reason of a refusal
  bool refused = false;
};

// The conditions that NIP-11 tells clients. Rules that hold only for some kinds do not count.
struct RuleLimits {
  bool restricts_writes = false;  // whether events must meet a condition of `allow`, or have proof of work
  bool readers_need_auth = false;
  uint64_t least_work_bits = 0;
  std::optional<uint64_t> oldest_s;
  std::optional<uint64_t> newest_s;
  std::vector<RetentionTerm> retention;
};

class Rules {
 public:
  Rules() = default;  // no rules
  // Each rate goes on with the counts of the same rate of `before`, if there is one.
  explicit Rules(RuleSet set, const Rules* before = nullptr);

  // Judges an event by all rules for writing but words and rates. Does not check the signature, so a rule about authors
  // may refuse an event, but its author need not have sent it.
  Ruling JudgeEvent(EventView event, const RuleClient& sender, uint64_t now_seconds) const;
  // Returns the search for words in an event that JudgeEvent does not refuse; null if there are no words for it.
  std::unique_ptr<WordSearch> SearchWords(EventView event, const RuleClient& sender) const;
  // Judges the event of a search that is over.
  static Ruling JudgeWords(const WordSearch& search);
  // Counts the event against the rates, or, if it exceeds one, refuses it and counts it against none. Call it only when
  // the signature was verified: otherwise strangers could use up the rates of any author.
  Ruling TakeRates(EventView event, const RuleClient& sender, TimePoint now) const;
  // Judges a REQ or COUNT. Refuses it if the client may not read, or if every filter asks only for hidden events.
  Ruling JudgeRead(std::span<const Filter> filters, const RuleClient& reader) const;
  // Returns false for an event that no client may read; the relay then answers as if it did not have the event.
  bool MaySee(EventView event) const;
  // Returns true if the filters may match hidden events.
  bool MayHide(std::span<const Filter> filters) const;

  // Returns the decision of every rule for writing about an event, in the order in which JudgeEvent asks them. Rates
  // are described, but not counted.
  std::vector<RuleOutcome> Explain(EventView event, const RuleClient& sender, uint64_t now_seconds) const;
  RuleLimits limits() const;
  const RuleSet& set() const { return set_; }
  bool judges_writes() const { return judges_writes_; }
  bool judges_reads() const { return judges_reads_; }
  bool hides() const { return hides_; }  // whether MaySee may return false

 private:
  bool IsExempt(EventView event, const RuleClient& sender) const;
  template <typename Visit>
  void VisitWriteRules(EventView event, const RuleClient& sender, uint64_t now_seconds, Visit visit) const;
  template <typename Visit>
  void VisitSpamRules(EventView event, uint64_t now_seconds, Visit visit) const;
  Ruling JudgeReader(const RuleClient& reader) const;
  bool IsHiddenKind(uint16_t kind) const;
  bool IsHiddenAuthor(const PublicKey& key) const;

  RuleSet set_;
  bool judges_writes_ = false;
  bool judges_reads_ = false;
  bool hides_ = false;
};

}  // namespace weir
