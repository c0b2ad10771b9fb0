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
  return by;  // sorted, because filter.authors is sorted
}

// Adds a range for each prefix and each kind that the filter names; if it names none, a range of all kinds for each
// prefix.
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

// Returns true if one key for each author leads to all events of this kind. This does not hold for addressable kinds:
// an event is kept under its first d tag, but must be found by each of its d tags.
bool HasAddresses(uint16_t kind, const Filter& filter, const PlanLimits& limits, size_t points) {
  return ClassOf(kind) == KindClass::kReplaceable && points + filter.authors->size() <= limits.max_points;
}

Plan AuthorPlan(const Filter& filter, const PlanLimits& limits) {
  Plan plan;
  if (!filter.kinds) {
    for (const PublicKey& author : *filter.authors) plan.kind_ranges.push_back(AuthorRange(author));
    return plan;
  }
  for (const uint16_t kind : *filter.kinds) {
    if (HasAddresses(kind, filter, limits, plan.points.size())) {
      for (const PublicKey& author : *filter.authors) plan.points.push_back(AddressKey(AddressOf(kind, author, "")));
    } else {
      for (const PublicKey& author : *filter.authors) plan.ranges.push_back(AuthorRange(author).Number(kind, 2));
    }
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

Plan KindPlan(const Filter& filter) {
  Plan plan;
  for (const uint16_t kind : *filter.kinds) plan.ranges.push_back(KindRange(kind));
  if (filter.authors) plan.by = FirstBytes(*filter.authors);
  return plan;
}

// The planner calls this before it makes the keys: a thousand authors with a thousand kinds are a million keys.
bool Fits(size_t values, const Filter& filter, size_t most) {
  return values * (filter.kinds ? filter.kinds->size() : 1) <= most;
}

bool AuthorsFit(const Filter& filter, const PlanLimits& limits) {
  if (!filter.authors || !Fits(filter.authors->size(), filter, limits.max_points)) return false;
  if (!filter.kinds) return filter.authors->size() <= limits.max_ranges;
  size_t points = 0;
  size_t ranges = 0;
  for (const uint16_t kind : *filter.kinds)
    (HasAddresses(kind, filter, limits, points) ? points : ranges) += filter.authors->size();
  return ranges <= limits.max_ranges;
}

void AddNarrowPlans(const Filter& filter, const PlanLimits& limits, std::vector<PlanChoice>* plans) {
  if (AuthorsFit(filter, limits)) plans->push_back({PlanChoice::Index::kAuthors});
  std::vector<size_t> tags;
  for (size_t i = 0; i < filter.tags.size(); ++i)
    if (Fits(filter.tags[i].values.size(), filter, limits.max_ranges)) tags.push_back(i);
  std::stable_sort(tags.begin(), tags.end(), [&filter](size_t a, size_t b) {
    return filter.tags[a].values.size() < filter.tags[b].values.size();
  });
  for (const size_t tag : tags)
    if (plans->size() < limits.max_plans) plans->push_back({PlanChoice::Index::kTag, tag});
}

}  // namespace

bool Plan::Wants(const IndexEntry& entry) const {
  return (by.empty() || std::binary_search(by.begin(), by.end(), entry.by)) &&
         (kinds.empty() || std::binary_search(kinds.begin(), kinds.end(), entry.kind));
}

std::vector<PlanChoice> PossiblePlans(const Filter& filter, const PlanLimits& limits) {
  if (filter.MatchesNothing()) return {};
  if (filter.ids) return {{PlanChoice::Index::kIds}};
  std::vector<PlanChoice> plans;
  AddNarrowPlans(filter, limits, &plans);
  if (!plans.empty()) return plans;
  if (filter.kinds && filter.kinds->size() <= limits.max_ranges) return {{PlanChoice::Index::kKinds}};
  return {{PlanChoice::Index::kTime}};
}

Plan MakePlan(const Filter& filter, const PlanChoice& choice, const PlanLimits& limits) {
  switch (choice.index) {
    case PlanChoice::Index::kIds:
      return IdPlan(*filter.ids);
    case PlanChoice::Index::kAuthors:
      return AuthorPlan(filter, limits);
    case PlanChoice::Index::kTag:
      return TagPlan(filter, filter.tags[choice.tag]);
    case PlanChoice::Index::kKinds:
      return KindPlan(filter);
    case PlanChoice::Index::kTime:
      break;
  }
  return CoarsestPlan(filter);
}

Plan CoarsestPlan(const Filter& filter) {
  Plan plan;
  plan.ranges.push_back(TimeRange());
  if (filter.authors) plan.by = FirstBytes(*filter.authors);
  if (filter.kinds) plan.kinds = *filter.kinds;
  return plan;
}

Plan EverybodysPlan(const Filter& filter) {
  constexpr size_t kFewKinds = 8;
  return filter.kinds && filter.kinds->size() <= kFewKinds ? KindPlan(filter) : CoarsestPlan(filter);
}

}  // namespace weir
