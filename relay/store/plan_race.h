// PlanRace: finds the plan that has the fewest entries. The plans are counted side by side, and the first to end wins.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/account/work.h"
#include "relay/store/planner.h"
#include "rocksdb/iterator.h"

namespace weir {

// The work that is left of a slice. A single step may overdraw it a little.
struct Budget {
  int64_t work = 0;
  uint64_t visits = 0;  // index entries and records looked at so far, in this slice and those before

  bool used_up() const { return work <= 0; }
  void Spend(Work spent) { work -= static_cast<int64_t>(spent); }
  void Visit(Work cost) {
    Spend(cost);
    ++visits;
  }
};

class PlanRace {
 public:
  PlanRace(const Filter& filter, const PlanLimits& limits);

  // True while plans have to be made, which comes first. With fewer than two there is no race.
  bool has_more_plans() const { return runners_.size() < choices_.size(); }
  void MakeNextPlan(const Filter& filter, const PlanLimits& limits, Budget* budget);

  bool decided() const { return winner_ != kNobody; }
  // Counts some more entries of the plan that has the fewest so far; any iterator of the index will do.
  void Step(rocksdb::Iterator* iterator, Budget* budget);
  // Ends the race and returns the winner, or an empty plan if there was none.
  Plan TakeWinner();
  uint64_t held_bytes() const;

 private:
  struct Runner {
    Plan plan;
    uint64_t entries = 0;
    size_t range = 0;  // the range that is being counted
    bool begun = false;
    Key resume{'\0'};
  };
  static constexpr size_t kNobody = SIZE_MAX;

  std::vector<PlanChoice> choices_;
  std::vector<Runner> runners_;
  size_t winner_ = kNobody;
};

}  // namespace weir
