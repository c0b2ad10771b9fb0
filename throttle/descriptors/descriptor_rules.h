// DescriptorRules: which limit a descriptor has. A domain has a tree; a descriptor, which is a list of keys with
// values, goes down the tree, one level for each entry:
//
//   auto rules = std::make_shared<DescriptorRules>();
//   DescriptorRules::Node* domain = rules->AddDomain("messaging");
//   Result<DescriptorRules::Node*> type = domain->Add({.key = "message_type", .value = "marketing"});
//   type.value()->Add({.key = "to_number", .limit = {{.unit = LimitUnit::kPerDay, .requests_per_unit = 5}}});
//
// At each level the exact value comes first, then the patterns of the key in the order in which they were added, then
// the key without a value. A choice is final, even if the next level has nothing. The limit is that of the node at
// which the descriptor ends. In a pattern each * stands for any text, even an empty one.
//
// Threads: one while it is built; any once it is const.
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
#include "throttle/descriptors/limit_unit.h"

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

// Hits that were charged to a rule, since it was first read.
struct RuleCounts {
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> over{0};         // beyond the limit
  std::atomic<uint64_t> near{0};         // within, but beyond four fifths of it
  std::atomic<uint64_t> cut{0};          // all hits of charges that went beyond the limit
  std::atomic<uint64_t> shadow{0};       // over, and let pass
  std::atomic<uint64_t> with_others{0};  // hits of values that had no room of their own

  // Hits of charges that were within the limit as a whole.
  uint64_t within() const {
    const uint64_t not_within = cut.load(std::memory_order_relaxed);
    return std::max(hits.load(std::memory_order_relaxed), not_within) - not_within;
  }
};

// A limit and a rule as they are written.
struct WrittenLimit {
  LimitUnit unit = LimitUnit::kPerSecond;
  uint32_t requests_per_unit = 0;
  bool unlimited = false;
  std::string name;
  std::vector<std::string> replaces;  // limits of these names are dropped if both apply to a request
};

struct DescriptorRule {
  std::string key;
  std::string value;  // empty: any
  std::optional<WrittenLimit> limit{};
  bool shadow_mode = false;      // counts and refuses nothing
  bool quota_mode = false;       // refuses only if all limits of a request that have it are over
  bool share_threshold = false;  // for a pattern: all values that match count together
};

// Appends a text so that no two lists of texts become one name. At most 2 GiB.
void AppendToName(std::string_view text, std::string* name);

class DescriptorRules {
 public:
  // How many rules are counted apart; further ones are counted together, those of each domain.
  static constexpr size_t kMostCounted = 1000;
  static constexpr std::string_view kOtherRules = "(others)";
  static constexpr std::string_view kOverrides = "(overrides)";

  struct Limit {
    const std::string* domain;
    std::string path;       // "message_type_marketing.to_number"
    std::string unit_name;  // unit, domain and path: the name by which all its values count that have no room
    UnitLimit limit;
    bool unlimited;
    bool shadow_mode;
    bool quota_mode;
    std::string name;
    std::vector<std::string> replaces;
    std::shared_ptr<RuleCounts> counts;
  };

  class Node {
   public:
    Node(DescriptorRules& rules, const std::string& domain, std::string path)
        : rules_(rules), domain_(domain), path_(std::move(path)) {}

    // The error says what is wrong with the rule, or that it is there already.
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
    // Sets *shared to the pattern by which the node was found, if all its values count together.
    const Node* Find(const DescriptorEntry& entry, std::string_view* shared) const;

    DescriptorRules& rules_;
    const std::string& domain_;
    const std::string path_;
    const Limit* limit_ = nullptr;
    std::unordered_map<std::string, OfKey, HashName, SameName> keys_;
  };

  // Rules that are in `before` go on with their counts.
  explicit DescriptorRules(const DescriptorRules* before = nullptr);
  ~DescriptorRules();
  DescriptorRules(const DescriptorRules&) = delete;
  DescriptorRules& operator=(const DescriptorRules&) = delete;

  // Returns null if the domain is there already.
  Node* AddDomain(const std::string& domain);

  struct Domain {
    Domain(DescriptorRules& rules, const std::string& name);

    const std::string name;
    Node root;
    const std::shared_ptr<RuleCounts> overrides;
    std::array<std::string, kLimitUnits.size()> override_names;  // Limit::unit_name, by the unit
  };
  // Returns null if there is no such domain.
  const Domain* Find(std::string_view domain) const;
  // Returns the descriptor's limit, or null if it has none. Appends the entries to *name: descriptors with other names
  // are counted apart.
  static const Limit* LimitOf(const Domain& domain, std::span<const DescriptorEntry> entries, std::string* name);

  size_t domains() const { return domains_.size(); }
  // The limits, in the order in which they were added.
  const std::deque<Limit>& limits() const { return limits_; }
  // The counts of the rules, by domain and path.
  using Counted = std::map<std::pair<std::string, std::string>, std::shared_ptr<RuleCounts>>;
  const Counted& counted() const { return counted_; }

 private:
  std::shared_ptr<RuleCounts> CountsOf(const std::string& domain, std::string_view path);

  const DescriptorRules* before_;  // while it is built
  std::unordered_map<std::string, Domain, HashName, SameName> domains_;
  std::deque<Limit> limits_;
  Counted counted_;
  size_t rules_counted_ = 0;
};

}  // namespace weir
