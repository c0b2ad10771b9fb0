#include "relay/store/planner.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

std::vector<uint32_t> FirstBytes(const std::vector<PublicKey>& authors) {
  std::vector<uint32_t> by;
  by.reserve(authors.size());
  for (const PublicKey& author : authors)
    by.push_back(static_cast<uint32_t>(ReadNumber(reinterpret_cast<const char*>(author.data()), 4)));
  return by;  // sorted, as the authors are
}

// `prefixes` of all kinds, or once with each kind that is asked for.
void AddRanges(const std::vector<Key>& prefixes, const Filter& filter, Plan* plan) {
  if (!filter.kinds) {
    plan->kind_ranges.insert(plan->kind_ranges.end(), prefixes.begin(), prefixes.end());
    return;
  }
  for (const uint16_t kind : *filter.kinds)
    for (Key prefix : prefixes) plan->ranges.push_back(prefix.Number(kind, 2));
}

Plan IdPlan(const std::vector<EventId>& ids) {
  Plan plan;
  for (const EventId& id : ids) plan.points.push_back(IdKey(id));
  return plan;
}

// The kind's current versions of all authors, one key each; false where they cannot be named. Those of addressable
// kinds cannot: an event is kept under its first d, and found by every d that it has.
bool AddAddresses(uint16_t kind, const Filter& filter, const PlanLimits& limits, Plan* plan) {
  if (ClassOf(kind) != KindClass::kReplaceable) return false;
  if (plan->points.size() + filter.authors->size() > limits.max_points) return false;
  for (const PublicKey& author : *filter.authors) plan->points.push_back(AddressKey(AddressOf(kind, author, "")));
  return true;
}

Plan AuthorPlan(const Filter& filter, const PlanLimits& limits) {
  Plan plan;
  if (!filter.kinds) {
    for (const PublicKey& author : *filter.authors) plan.kind_ranges.push_back(AuthorRange(author));
    return plan;
  }
  for (const uint16_t kind : *filter.kinds) {
    if (AddAddresses(kind, filter, limits, &plan)) continue;
    for (const PublicKey& author : *filter.authors) plan.ranges.push_back(AuthorRange(author).Number(kind, 2));
  }
  return plan;
}

Plan TagPlan(const Filter& filter, const TagCondition& tag) {
  Plan plan;
  std::vector<Key> prefixes;
  for (const std::string& value : tag.values) prefixes.push_back(TagRange(tag.letter, value));
  AddRanges(prefixes, filter, &plan);
  if (filter.authors) plan.by = FirstBytes(*filter.authors);
  return plan;
}

// Before the keys are made: a thousand authors with a thousand kinds are a million.
bool Fits(size_t values, const Filter& filter, size_t most) {
  return values * (filter.kinds ? filter.kinds->size() : 1) <= most;
}

void AddNarrowPlans(const Filter& filter, const PlanLimits& limits, std::vector<Plan>* plans) {
  if (filter.authors && Fits(filter.authors->size(), filter, limits.max_points)) {
    Plan plan = AuthorPlan(filter, limits);
    if (plan.ranges.size() + plan.kind_ranges.size() <= limits.max_ranges) plans->push_back(std::move(plan));
  }
  std::vector<const TagCondition*> tags;
  for (const TagCondition& tag : filter.tags)
    if (Fits(tag.values.size(), filter, limits.max_ranges)) tags.push_back(&tag);
  std::stable_sort(tags.begin(), tags.end(),
                   [](const TagCondition* a, const TagCondition* b) { return a->values.size() < b->values.size(); });
  for (const TagCondition* tag : tags) plans->push_back(TagPlan(filter, *tag));
}

}  // namespace

bool Plan::Wants(const IndexEntry& entry) const {
  return (by.empty() || std::binary_search(by.begin(), by.end(), entry.by)) &&
         (kinds.empty() || std::binary_search(kinds.begin(), kinds.end(), entry.kind));
}

std::vector<Plan> PossiblePlans(const Filter& filter, const PlanLimits& limits) {
  std::vector<Plan> plans;
  if (filter.MatchesNothing()) return plans;
  if (filter.ids) {
    plans.push_back(IdPlan(*filter.ids));
    return plans;
  }
  AddNarrowPlans(filter, limits, &plans);
  if (!plans.empty()) return plans;
  if (filter.kinds && filter.kinds->size() <= limits.max_ranges) {
    Plan plan;
    for (const uint16_t kind : *filter.kinds) plan.ranges.push_back(KindRange(kind));
    if (filter.authors) plan.by = FirstBytes(*filter.authors);
    plans.push_back(std::move(plan));
    return plans;
  }
  plans.push_back(CoarsestPlan(filter));
  return plans;
}

Plan CoarsestPlan(const Filter& filter) {
  Plan plan;
  plan.ranges.push_back(TimeRange());
  if (filter.authors) plan.by = FirstBytes(*filter.authors);
  if (filter.kinds) plan.kinds = *filter.kinds;
  return plan;
}

}  // namespace weir
