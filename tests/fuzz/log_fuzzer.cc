// A LOG of RocksDB. Any bytes give figures that can be, and a report that is well-formed.
#include <simdjson.h>

#include <cmath>

#include "bench/advise/database_report.h"
#include "bench/advise/history_reader.h"
#include "bench/advise/stall_plot.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

// A picture takes longer than all the rest.
constexpr size_t kInputsPerPicture = 16;

void Check(std::string_view text) {
  const bool draws = text.size() % kInputsPerPicture == 0;
  HistoryReader reader;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    reader.Add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  DatabaseReport report{.history = std::move(reader).Finish()};
  const DatabaseHistory& h = report.history;
  for (const double figure : {h.logged_seconds, h.delayed_seconds, h.stopped_seconds, h.measured_seconds,
                              h.covered_seconds, h.uncovered_stalled, h.user_bytes})
    Must(std::isfinite(figure) && figure >= 0);
  Must(h.measured_seconds <= h.covered_seconds);
  Must(h.families.size() <= HistoryReader::kMostFamilies + 1);
  Must(h.episodes.size() <= StallConditions::kMostEpisodes);
  report.advice = AdviseOptions(h);
  if (h.Busiest() != nullptr) report.with_weir = OptionsWithWeir(*h.Busiest());
  report.what_if.why_not = "a run takes too long here";
  Must(!ReportText(report).empty());
  if (draws) StallPlot({report});
  simdjson::dom::parser parser;
  Must(parser.parse(ReportJson({report})).error() == simdjson::SUCCESS);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
