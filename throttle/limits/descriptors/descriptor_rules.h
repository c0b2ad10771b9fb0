// DescriptorRules: the rules that say which limit a descriptor has. A domain is a name for the rules of one program; it
// has a tree of rules. A descriptor is a list of entries, each of which is a key with a value. Each entry leads one
// level down the tree:
//
//   auto rules = std::make_shared<DescriptorRules>();
//   DescriptorRules::Node* domain = rules->AddDomain("messaging");
//   Result<DescriptorRules::Node*> type = domain->Add({.key = "message_type", .value = "marketing"});
//   type.value()->Add({.key = "to_number", .limit = {{.unit = LimitUnit::kPerDay, .requests_per_unit = 5}}});
//
// At each level, the rule with exactly the key and the value of the entry is tried first, then the patterns of the key
// in the order in which they were added, then the rule that has the key and no value. The choice at a level is final,
// even if no rule below the chosen one fits the next entry. The limit of a descriptor is that of the rule to which the
// last entry leads, if this rule has a limit. In a pattern, each * stands for any text, even an empty one.
//
// Threads: while a thread adds rules, no other thread may use them. Afterwards any number of threads may use them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/status.h"
#include "config/text/name_hash.h"
#include "throttle/limits/descriptors/limit_unit.h"

namespace weir {

struct DescriptorEntry {
  std::string_view key;
  std::string_view value;
};

struct UnitLimit {
  uint32_t requests_per_unit = 0;
  LimitUnit unit = LimitUnit::kPerSecond;

  bool operator==(const UnitLimit&) const = default;
};

// The hits that were charged to a rule. They stay counted when the program loads its rules again (`before` below).
struct RuleCounts {
  std::atomic<uint64_t> hits{0};         // all hits
  std::atomic<uint64_t> over{0};         // hits beyond the limit
  std::atomic<uint64_t> near{0};         // hits within the limit, but beyond four fifths of it
  std::atomic<uint64_t> cut{0};          // all hits of requests after which the count was above the limit
  std::atomic<uint64_t> shadow{0};       // hits beyond the limit that passed because of shadow mode
  std::atomic<uint64_t> with_others{0};  // hits of names that had to share a count, because there was no room

  // Returns the hits of requests after which the count was at or below the limit.
  uint64_t within() const {
    const uint64_t not_within = cut.load(std::memory_order_relaxed);
    return std::max(hits.load(std::memory_order_relaxed), not_within) - not_within;
  }
};

// A limit, as the configuration states it.
struct WrittenLimit {
  LimitUnit unit = LimitUnit::kPerSecond;
  uint32_t requests_per_unit = 0;
  bool unlimited = false;
  std::string name;
  std::vector<std::string> replaces;  // names of limits; if this limit applies to a request, those do not
};

// A rule, as the configuration states it.
struct DescriptorRule {
  std::string key;
  std::string value;  // a * makes it a pattern; empty: any value
  std::optional<WrittenLimit> limit{};
  bool shadow_mode = false;      // hits are counted, but no request is refused
  bool quota_mode = false;       // refuses a request only if all its descriptors in quota mode exceed their limits
  bool share_threshold = false;  // for a pattern: all values that match it have one count together
};

// Appends the length of `text`, which must be below 2 GiB, and then `text` itself to *name. Because of the lengths,
// different lists of texts make different names.
void AppendToName(std::string_view text, std::string* name);

class DescriptorRules {
 public:
  // The first kMostCounted rules with a limit, of all domains together, have RuleCounts of their own. All further rules
  // of a domain share the RuleCounts of the path kOtherRules. Descriptors that bring their own limit are counted under
  // the path kOverrides.
  static constexpr size_t kMostCounted = 1000;
  static constexpr std::string_view kOtherRules = "(others)";
  static constexpr std::string_view kOverrides = "(overrides)";

  // The limit of a rule, in the form in which DescriptorLimiter applies it.
  struct Limit {
    const std::string* domain;
    std::string path;       // keys and values from the root on: "message_type_marketing.to_number"
    std::string unit_name;  // made of unit, domain and path; identifies the rule in DescriptorShard
    UnitLimit limit;
    bool unlimited;
    bool shadow_mode;
    bool quota_mode;
    std::string name;
    std::vector<std::string> replaces;
    std::shared_ptr<RuleCounts> counts;
  };

  // A rule, with the rules below it.
  class Node {
   public:
    Node(DescriptorRules& rules, const std::string& domain, std::string path)
        : rules_(rules), domain_(domain), path_(std::move(path)) {}

    // Adds a rule below this one, for the next entry of a descriptor, and returns the node of the new rule, which the
    // DescriptorRules own. Returns an error, and adds no rule, if the rule is invalid, exists already, matches the same
    // values as a rule without a value, or could match no value because of a pattern that was added before. A rule that
    // exists already is refused for this, whatever else is wrong with it.
    Result<Node*> Add(DescriptorRule rule);

   private:
    friend class DescriptorRules;
    struct Pattern {
      std::string text;
      std::unique_ptr<Node> node;
      bool shared;
    };
    struct OfKey {
      std::unordered_map<std::string, std::unique_ptr<Node>, HashName, SameName> by_value;
      std::vector<Pattern> patterns;  // in the order in which they were added
      std::unique_ptr<Node> any_value;
    };

    Status SetLimit(const DescriptorRule& rule);
    // Returns the rule for the entry, or null if there is none. Sets *shared to the pattern of the rule if all values
    // that match this pattern have one count together.
    const Node* Find(const DescriptorEntry& entry, std::string_view* shared) const;

    DescriptorRules& rules_;
    const std::string& domain_;
    const std::string path_;
    const Limit* limit_ = nullptr;
    std::unordered_map<std::string, OfKey, HashName, SameName> keys_;
  };

  // Makes empty rules. A rule that also exists in `before` (same domain and path) continues the RuleCounts that it has
  // there. `before` must exist until the last rule is added.
  explicit DescriptorRules(const DescriptorRules* before = nullptr);
  ~DescriptorRules();
  DescriptorRules(const DescriptorRules&) = delete;
  DescriptorRules& operator=(const DescriptorRules&) = delete;

  // Adds a domain and returns the root of its tree. Returns null if the domain exists already.
  Node* AddDomain(const std::string& domain);

  struct Domain {
    Domain(DescriptorRules& rules, const std::string& name);

    const std::string name;
    Node root;
    const std::shared_ptr<RuleCounts> overrides;
    std::array<std::string, kLimitUnits.size()> override_names;  // Limit::unit_name, indexed by the unit
  };
  // Returns the domain with that name, or null if there is none.
  const Domain* Find(std::string_view domain) const;
  // Returns the limit of the descriptor, or null if it has none. Appends the entries to *name, so that different
  // descriptors are counted under different names (of values that have one count together, it appends their pattern).
  // If there is no limit, it may append only some of the entries.
  static const Limit* LimitOf(const Domain& domain, std::span<const DescriptorEntry> entries, std::string* name);

  size_t domains() const { return domains_.size(); }
  // Returns the limits, in the order in which they were added.
  const std::deque<Limit>& limits() const { return limits_; }
  // The counts of the rules, by domain and path.
  using Counted = std::map<std::pair<std::string, std::string>, std::shared_ptr<RuleCounts>>;
  const Counted& counted() const { return counted_; }

 private:
  std::shared_ptr<RuleCounts> CountsOf(const std::string& domain, std::string_view path);

  const DescriptorRules* before_;  // used only while rules are added
  std::unordered_map<std::string, Domain, HashName, SameName> domains_;
  std::deque<Limit> limits_;
  Counted counted_;
  size_t rules_counted_ = 0;
};

}  // namespace weir
