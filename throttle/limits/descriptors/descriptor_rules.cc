#include "throttle/limits/descriptors/descriptor_rules.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

// Set in the length of a pattern whose values have one count together. No text is that long.
constexpr size_t kCountsTogether = 0x80000000;

void AppendPart(std::string_view text, size_t kind, std::string* name) {
  const auto head = static_cast<uint32_t>(text.size() | kind);
  char bytes[sizeof head];
  std::memcpy(bytes, &head, sizeof head);
  name->append(bytes, sizeof head);
  name->append(text);
}

std::string UnitName(LimitUnit unit, std::string_view domain, std::string_view path) {
  std::string name(1, static_cast<char>(unit));
  AppendToName(domain, &name);
  AppendToName(path, &name);
  return name;
}

bool MatchesAll(std::string_view pattern) { return pattern.find_first_not_of('*') == pattern.npos; }

bool Matches(std::string_view pattern, std::string_view text) {
  const size_t first_star = pattern.find('*');
  const size_t last_star = pattern.rfind('*');
  const std::string_view head = pattern.substr(0, first_star);
  const std::string_view tail = pattern.substr(last_star + 1);
  if (text.size() < head.size() + tail.size() || !text.starts_with(head) || !text.ends_with(tail)) return false;
  text = text.substr(head.size(), text.size() - head.size() - tail.size());
  // Matching each part at its first occurrence leaves the most text for the parts after it.
  for (size_t star = first_star; star != last_star;) {
    const size_t next = pattern.find('*', star + 1);
    const std::string_view part = pattern.substr(star + 1, next - star - 1);
    const size_t at = text.find(part);
    if (at == text.npos) return false;
    text.remove_prefix(at + part.size());
    star = next;
  }
  return true;
}

}  // namespace

void AppendToName(std::string_view text, std::string* name) { AppendPart(text, 0, name); }

DescriptorRules::DescriptorRules(const DescriptorRules* before) : before_(before) {}
DescriptorRules::~DescriptorRules() = default;

DescriptorRules::Domain::Domain(DescriptorRules& rules, const std::string& of)
    : name(of), root(rules, name, ""), overrides(rules.CountsOf(name, kOverrides)) {
  for (size_t unit = 0; unit < override_names.size(); ++unit)
    override_names[unit] = UnitName(static_cast<LimitUnit>(unit), name, kOverrides);
}

DescriptorRules::Node* DescriptorRules::AddDomain(const std::string& domain) {
  const auto [at, is_new] = domains_.try_emplace(domain, *this, domain);
  return is_new ? &at->second.root : nullptr;
}

Result<DescriptorRules::Node*> DescriptorRules::Node::Add(DescriptorRule rule) {
  if (rule.key.empty()) return Status::Error("a descriptor has no key");
  const bool is_pattern = rule.value.find('*') != rule.value.npos;
  OfKey& of_key = keys_[rule.key];
  const auto same = std::ranges::find(of_key.patterns, rule.value, &Pattern::text);
  const bool is_there = is_pattern           ? same != of_key.patterns.end()
                        : rule.value.empty() ? of_key.any_value != nullptr
                                             : of_key.by_value.contains(rule.value);
  std::string path = path_.empty() ? rule.key : path_ + "." + rule.key;
  if (!rule.value.empty()) path += "_" + rule.value;
  if (is_there) return Status::Error("the descriptor " + path + " is there twice");
  if (rule.key.find('*') != rule.key.npos)
    return Status::Error("the key " + rule.key + " can match nothing: a * stands for any text only in values");
  if (rule.share_threshold && !is_pattern)
    return Status::Error("share_threshold is for values with a *: without one there is nothing to share");
  const auto hides = [&](const Pattern& before) {
    return is_pattern ? Matches(before.text, rule.value) : rule.value.empty() && MatchesAll(before.text);
  };
  if (const auto before = std::ranges::find_if(of_key.patterns, hides); before != of_key.patterns.end())
    return Status::Error("the descriptor " + path + " can match nothing: the value " + before->text +
                         " stands before it and matches everything that it would match");
  if (is_pattern && MatchesAll(rule.value) && of_key.any_value != nullptr)
    return Status::Error("the descriptor " + path +
                         " matches everything that the one without a value does; keep one of them");

  auto node = std::make_unique<Node>(rules_, domain_, std::move(path));
  Node* added = node.get();
  if (Status status = added->SetLimit(rule); !status.ok()) return status;
  if (is_pattern) {
    of_key.patterns.push_back({rule.value, std::move(node), rule.share_threshold});
  } else if (rule.value.empty()) {
    of_key.any_value = std::move(node);
  } else {
    of_key.by_value.emplace(rule.value, std::move(node));
  }
  return added;
}

Status DescriptorRules::Node::SetLimit(const DescriptorRule& rule) {
  if (!rule.limit) return Status();
  const WrittenLimit& limit = *rule.limit;
  for (const std::string& replaced : limit.replaces) {
    if (replaced.empty()) return Status::Error("a limit replaces one without a name");
    if (replaced == limit.name) return Status::Error("the limit " + replaced + " replaces itself");
  }
  rules_.limits_.push_back({.domain = &domain_,
                            .path = path_,
                            .unit_name = UnitName(limit.unit, domain_, path_),
                            .limit = {limit.requests_per_unit, limit.unit},
                            .unlimited = limit.unlimited,
                            .shadow_mode = rule.shadow_mode,
                            .quota_mode = rule.quota_mode,
                            .name = limit.name,
                            .replaces = limit.replaces,
                            .counts = rules_.CountsOf(domain_, path_)});
  limit_ = &rules_.limits_.back();
  return Status();
}

std::shared_ptr<RuleCounts> DescriptorRules::CountsOf(const std::string& domain, std::string_view path) {
  std::pair key(domain, std::string(path));
  if (const auto found = counted_.find(key); found != counted_.end()) return found->second;
  if (path != kOverrides && path != kOtherRules && ++rules_counted_ > kMostCounted)
    return CountsOf(domain, kOtherRules);
  std::shared_ptr<RuleCounts> counts;
  if (before_ != nullptr)
    if (const auto found = before_->counted_.find(key); found != before_->counted_.end()) counts = found->second;
  if (counts == nullptr) counts = std::make_shared<RuleCounts>();
  return counted_.emplace(std::move(key), std::move(counts)).first->second;
}

const DescriptorRules::Domain* DescriptorRules::Find(std::string_view domain) const {
  const auto found = domains_.find(HashedName(domain));
  return found == domains_.end() ? nullptr : &found->second;
}

const DescriptorRules::Node* DescriptorRules::Node::Find(const DescriptorEntry& entry, std::string_view* shared) const {
  const auto found = keys_.find(HashedName(entry.key));
  if (found == keys_.end()) return nullptr;
  const OfKey& of_key = found->second;
  if (!of_key.by_value.empty()) {
    const auto exact = of_key.by_value.find(HashedName(entry.value));
    if (exact != of_key.by_value.end()) return exact->second.get();
  }
  for (const Pattern& pattern : of_key.patterns) {
    if (!Matches(pattern.text, entry.value)) continue;
    if (pattern.shared) *shared = pattern.text;
    return pattern.node.get();
  }
  return of_key.any_value.get();
}

const DescriptorRules::Limit* DescriptorRules::LimitOf(const Domain& domain, std::span<const DescriptorEntry> entries,
                                                       std::string* name) {
  const Node* node = &domain.root;
  for (const DescriptorEntry& entry : entries) {
    std::string_view shared;
    node = node->Find(entry, &shared);
    if (node == nullptr) return nullptr;
    AppendPart(entry.key, 0, name);
    AppendPart(shared.empty() ? entry.value : shared, shared.empty() ? 0 : kCountsTogether, name);
  }
  return node->limit_;
}

}  // namespace weir
