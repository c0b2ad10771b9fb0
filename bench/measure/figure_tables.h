// Collects figures that were measured several times, and makes the tables that are printed.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/results.h"

namespace weir {

// `subject` is the thing that was measured (a store, a number of threads), `scenario` the work that it did.
class FigureTables {
 public:
  explicit FigureTables(Results& results) : results_(results), first_(results.rows().size()) {}

  // Keeps the first error for status().
  void Add(int repetition, const std::string& scenario, const std::string& subject, const LoadFigures& figures);

  // Returns Markdown: a table for each figure, scenarios down and subjects across, in the order in which they came
  // first. Each cell has the median with the lowest and the highest. `ratio` adds the first subject's median over the
  // second's.
  std::string Tables(bool ratio) const;
  const Status& status() const { return status_; }

 private:
  Results& results_;
  const size_t first_;  // this object's first row
  Status status_;
};

}  // namespace weir
