// Which of several plans has the fewest entries: they are counted side by side, and the one that ends first has them.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/store/planner.h"
#include "rocksdb/iterator.h"

namespace weir {

// Visits that are left of a slice; may go below zero by the work of a moment.
struct Budget {
  int64_t visits;

  bool used_up() const { return visits <= 0; }
};

class PlanRace {
 public:
  explicit PlanRace(std::vector<Plan> plans);

  bool decided() const { return winner_ != kNobody; }
  // Counts some more entries of the plan that has least; any iterator of the index will do.
  void Step(rocksdb::Iterator* iterator, Budget* budget);
  // A plan of nothing where there was none.
  Plan TakeWinner();

 private:
  struct Runner {
    Plan plan;
    uint64_t entries = 0;
    size_t range = 0;  // that is being counted
    bool begun = false;
    Key resume{'\0'};
  };
  static constexpr size_t kNobody = SIZE_MAX;

  std::vector<Runner> runners_;
  size_t winner_ = kNobody;
};

}  // namespace weir
