// DescriptorRules: the rules that say which limit a descriptor has. Each domain, which is a name for the rules of one
// program, has a tree of rules. A descriptor is a list of entries, each a key with a value, and each entry leads one
// level down the tree:
//
//   auto rules = std::make_shared<DescriptorRules>();
//   DescriptorRules::Node* domain = rules->AddDomain("messaging");
//   Result<DescriptorRules::Node*> type = domain->Add({.key = "message_type", .value = "marketing"});
//   type.value()->Add({.key = "to_number", .limit = {{.unit = LimitUnit::kPerDay, .requests_per_unit = 5}}});
//
// At each level the rule for exactly this value is tried first, then the patterns of the key in the order in which they
// were added, then the rule for the key without a value. The choice at a level is final, even if the chosen rule has
// none below it for the next entry. A descriptor has the limit of the rule to which its last entry leads, if that rule
// has one. In a pattern each * stands for any text, even an empty one.
//
// Threads: only one thread may use the rules while rules are added; any number may use them afterwards.
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

// Counts of the hits that were charged to a rule. They go on counting when the rules are read again.
struct RuleCounts {
  std::atomic<uint64_t> hits{0};         // all hits
  std::atomic<uint64_t> over{0};         // hits beyond the limit
  std::atomic<uint64_t> near{0};         // hits within the limit, but beyond four fifths of it
  std::atomic<uint64_t> cut{0};          // all hits of requests whose charge went beyond the limit
  std::atomic<uint64_t> shadow{0};       // hits beyond the limit that passed because of shadow mode
  std::atomic<uint64_t> with_others{0};  // hits of values that were counted together because there was no room

  // Returns the hits of requests whose whole charge was within the limit.
  uint64_t within() const {
    const uint64_t not_within = cut.load(std::memory_order_relaxed);
    return std::max(hits.load(std::memory_order_relaxed), not_within) - not_within;
  }
};

// WrittenLimit and DescriptorRule: a limit and a rule, as the configuration states them.
struct WrittenLimit {
  LimitUnit unit = LimitUnit::kPerSecond;
  uint32_t requests_per_unit = 0;
  bool unlimited = false;
  std::string name;
  std::vector<std::string> replaces;  // names of limits that do not apply to a request to which this one applies
};

struct DescriptorRule {
  std::string key;
  std::string value;  // a * makes it a pattern; empty: any value
  std::optional<WrittenLimit> limit{};
  bool shadow_mode = false;      // hits are counted, but no request is refused
  bool quota_mode = false;       // refuses a request only if all its descriptors in quota mode are over
  bool share_threshold = false;  // for a pattern: all values that match it are counted together
};

// Appends the length of `text` (less than 2 GiB) and `text` to *name, so that different lists of texts make different
// names.
void AppendToName(std::string_view text, std::string* name);

class DescriptorRules {
 public:
  // How many rules have RuleCounts of their own. All further rules of a domain share one, under the path kOtherRules.
  static constexpr size_t kMostCounted = 1000;
  static constexpr std::string_view kOtherRules = "(others)";
  static constexpr std::string_view kOverrides = "(overrides)";

  // The limit of a rule, as it is applied.
  struct Limit {
    const std::string* domain;
    std::string path;       // keys and values from the root on: "message_type_marketing.to_number"
    std::string unit_name;  // unit, domain and path; the name of the count that values share if there is no room
    UnitLimit limit;
    bool unlimited;
    bool shadow_mode;
    bool quota_mode;
    std::string name;
    std::vector<std::string> replaces;
    std::shared_ptr<RuleCounts> counts;
  };

  // A rule, and the rules below it.
  class Node {
   public:
    Node(DescriptorRules& rules, const std::string& domain, std::string path)
        : rules_(rules), domain_(domain), path_(std::move(path)) {}

    // Adds a rule below this one, for the next entry, and returns its node, which belongs to the DescriptorRules.
    // Returns an error, and adds nothing, if the rule is faulty, is there already, or could match nothing because of a
    // pattern before it.
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
    // Returns the rule for the entry, or null. If all values of its pattern are counted together, sets *shared to the
    // pattern.
    const Node* Find(const DescriptorEntry& entry, std::string_view* shared) const;

    DescriptorRules& rules_;
    const std::string& domain_;
    const std::string path_;
    const Limit* limit_ = nullptr;
    std::unordered_map<std::string, OfKey, HashName, SameName> keys_;
  };

  // Makes empty rules. A rule that `before` also has goes on with its counts from there. `before` must exist until the
  // last rule is added.
  explicit DescriptorRules(const DescriptorRules* before = nullptr);
  ~DescriptorRules();
  DescriptorRules(const DescriptorRules&) = delete;
  DescriptorRules& operator=(const DescriptorRules&) = delete;

  // Adds a domain and returns the root of its tree. Returns null if the domain is there already.
  Node* AddDomain(const std::string& domain);

  struct Domain {
    Domain(DescriptorRules& rules, const std::string& name);

    const std::string name;
    Node root;
    const std::shared_ptr<RuleCounts> overrides;
    std::array<std::string, kLimitUnits.size()> override_names;  // Limit::unit_name, indexed by the unit
  };
  // Returns the domain of that name, or null if there is none.
  const Domain* Find(std::string_view domain) const;
  // Returns the limit of the descriptor, or null if it has none. Appends the entries to *name, so that different
  // descriptors are counted under different names; if there is no limit, may append only some of them.
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
