// PlanRace: finds out which of a filter's plans (planner.h) leads to the fewest index entries, by counting entries in
// the index. Each step counts some entries of the plan with the lowest count so far. The plan with the lowest count
// wins once all its entries, or 1,024 of them, are counted.
//
// First call MakeNextPlan while has_more_plans(), then Step until decided(), then TakeWinner. If there are fewer than
// two plans, decided() is true from the beginning, and no Step is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/store/planner.h"
#include "relay/store/query_budget.h"
#include "rocksdb/iterator.h"

namespace weir {

class PlanRace {
 public:
  // Does not keep references to its arguments.
  PlanRace(const Filter& filter, const PlanLimits& limits);

  // Returns true while a plan is left to make. All plans must be made before the first Step, and before TakeWinner.
  bool has_more_plans() const { return runners_.size() < choices_.size(); }
  // Makes one plan. `filter` and `limits` must be those of the constructor.
  void MakeNextPlan(const Filter& filter, const PlanLimits& limits, Budget* budget);

  // Returns true once a plan has won, or from the beginning if there are fewer than two plans.
  bool decided() const { return winner_ != kNobody; }
  // Counts up to 32 more entries of the plan with the lowest count so far, or decides the race. `iterator` must be an
  // iterator of the index family; the call moves it. The caller must check the status of the iterator afterwards.
  void Step(rocksdb::Iterator* iterator, Budget* budget);
  // Returns the winner and frees all plans. Returns an empty plan if the filter can match no event. Must be called
  // once.
  Plan TakeWinner();
  // Returns the bytes of memory that the plans take.
  uint64_t held_bytes() const;

 private:
  // A plan that is being counted.
  struct Runner {
    Plan plan;
    uint64_t entries = 0;  // number of entries that were counted; it begins with the number of the plan's points
    size_t range = 0;      // the range that is being counted: an index into `ranges`, then into `kind_ranges`
    bool begun = false;    // a part of the range was counted
    Key resume{'\0'};      // if `begun`: the key at which the count continues
  };
  static constexpr size_t kNobody = SIZE_MAX;

  std::vector<PlanChoice> choices_;
  std::vector<Runner> runners_;
  size_t winner_ = kNobody;
};

}  // namespace weir
