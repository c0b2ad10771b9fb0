// Figures of what was measured several times, and the tables that are printed of them.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/results.h"

namespace weir {

// `subject` is who did it (a store, so many threads), `scenario` what was done.
class FigureTables {
 public:
  explicit FigureTables(Results& results) : results_(results), first_(results.rows().size()) {}

  // The first error is kept for the end.
  void Add(int repetition, const std::string& scenario, const std::string& subject, const LoadFigures& figures);

  // Markdown: a table for each figure, scenarios down and subjects across, in the order in which they came first; the
  // median with the lowest and the highest. With `ratio` the first subject's median over the second's.
  std::string Tables(bool ratio) const;
  const Status& status() const { return status_; }

 private:
  Results& results_;
  const size_t first_;  // of the rows
  Status status_;
};

}  // namespace weir
