// FigureTables: collects figures that were measured several times, and makes tables of their medians.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/results.h"

namespace weir {

// A `subject` is the thing that was measured (a store, a number of threads); a `scenario` is the work that it did.
class FigureTables {
 public:
  explicit FigureTables(Results& results) : results_(results), first_(results.rows().size()) {}

  // Adds the figures to the results. If that fails, status() returns the first error.
  void Add(int repetition, const std::string& scenario, const std::string& subject, const LoadFigures& figures);

  // Returns Markdown: a table for each figure, with a row for each scenario and a column for each subject, both in the
  // order in which they were added first. Each cell has the median, and the lowest and highest value if they differ. If
  // `ratio` is true and there are two subjects or more, a further column has the first subject's median divided by the
  // second's.
  std::string Tables(bool ratio) const;
  const Status& status() const { return status_; }

 private:
  Results& results_;
  const size_t first_;  // this object's first row
  Status status_;
};

}  // namespace weir
