// Figures of the quotas' measurements, and the tables that are printed of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/relay/report.h"

namespace weir {

// Of what was measured several times: `subject` is who did it (a store, so many threads), `scenario` what was done.
class QuotaFigures {
 public:
  void Add(int repetition, const std::string& scenario, const std::string& subject, const std::string& name,
           const std::string& unit, double value);

  // Markdown: a table for each figure, scenarios down and subjects across, in the order in which they came first; the
  // median with the lowest and the highest. With `ratio` the first subject's median over the second's.
  std::string Tables(bool ratio) const;
  const std::vector<ResultRow>& rows() const { return rows_; }

 private:
  std::vector<ResultRow> rows_;
};

}  // namespace weir
