#include "relay/store/plan_race.h"

#include <algorithm>
#include <utility>

#include "relay/store/database.h"

namespace weir {
namespace {

constexpr int kEntriesAStep = 32;
constexpr Work kKeyWork = 150;  // mostly for hashing a tag's value
// A plan with this many entries is counted no further. Counting them takes 0.3 ms, and each step a seek more.
constexpr uint64_t kMostEntries = 1024;

const Key& RangeOf(const Plan& plan, size_t range) {
  return range < plan.ranges.size() ? plan.ranges[range] : plan.kind_ranges[range - plan.ranges.size()];
}

}  // namespace

PlanRace::PlanRace(const Filter& filter, const PlanLimits& limits) : choices_(PossiblePlans(filter, limits)) {
  if (choices_.size() < 2) winner_ = 0;
}

void PlanRace::MakeNextPlan(const Filter& filter, const PlanLimits& limits, Budget* budget) {
  Plan plan = MakePlan(filter, choices_[runners_.size()], limits);
  budget->Spend(plan.size() * kKeyWork);
  const size_t points = plan.points.size();
  runners_.push_back({.plan = std::move(plan), .entries = points});
}

void PlanRace::Step(rocksdb::Iterator* iterator, Budget* budget) {
  // Takes the first of the plans with the lowest count, which is the most promising one (PossiblePlans).
  Runner& runner = *std::min_element(runners_.begin(), runners_.end(),
                                     [](const Runner& a, const Runner& b) { return a.entries < b.entries; });
  const bool at_end = runner.range == runner.plan.ranges.size() + runner.plan.kind_ranges.size();
  if (at_end || runner.entries >= kMostEntries) {
    winner_ = static_cast<size_t>(&runner - runners_.data());
    return;
  }
  const Key& prefix = RangeOf(runner.plan, runner.range);
  iterator->Seek(rocksdb::Slice(runner.begun ? runner.resume.view().data() : prefix.view().data(),
                                runner.begun ? runner.resume.view().size() : prefix.view().size()));
  budget->Visit(kSeekWork);
  const rocksdb::Slice start(prefix.view().data(), prefix.view().size());
  for (int i = 0; iterator->Valid() && iterator->key().starts_with(start); ++i, iterator->Next()) {
    runner.begun = true;
    runner.resume = Key::Of(ToView(iterator->key()));
    // Counts at least one entry, because a race with tiny slices would make no progress otherwise.
    if (i == kEntriesAStep || (i > 0 && budget->used_up())) return;
    ++runner.entries;
    budget->Visit(kVisitWork);
  }
  runner.begun = false;
  ++runner.range;
}

Plan PlanRace::TakeWinner() {
  Plan plan = winner_ < runners_.size() ? std::move(runners_[winner_].plan) : Plan();
  runners_ = std::vector<Runner>();
  choices_ = std::vector<PlanChoice>();
  return plan;
}

uint64_t PlanRace::held_bytes() const {
  uint64_t bytes = runners_.capacity() * sizeof(Runner);
  for (const Runner& runner : runners_) bytes += runner.plan.held_bytes();
  return bytes;
}

}  // namespace weir
