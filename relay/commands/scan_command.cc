#include "relay/commands/scan_command.h"

#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/text/json_string.h"
#include "relay/commands/reading_command.h"

namespace weir {
namespace {

Status PrintMatches(const EventStore& store, std::vector<Filter> filters, bool count_only) {
  const auto query = store.Find(
      std::move(filters),
      {.now_seconds = WallClock::System().NowSeconds(), .default_limit = kAllEvents, .max_limit = kAllEvents});
  uint64_t count = 0;
  bool written = true;
  std::string line;
  const auto print = [&](EventView event) {
    ++count;
    if (count_only || !written) return;
    line.clear();
    AppendSafeJson(event.json(), &line);
    line += '\n';
    written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
  };
  for (Progress progress = Progress::kMore; written && progress == Progress::kMore;) {
    const Result<Progress> next = query->Next({.max_work = 100 * kTurnWork, .max_bytes = 16 << 20}, print);
    if (!next.ok()) return next.status();
    progress = next.value();
  }
  if (count_only) std::printf("%" PRIu64 "\n", count);
  if (std::fflush(stdout) != 0 || !written) return Status::Error("cannot write to standard output");
  return {};
}

}  // namespace

int ScanCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Prints the stored events that match any of the filters, one JSON object a line, newest first. Without a limit\n"
      "in the filter that is all of them. Events that expired are left out. A relay may run meanwhile: what is shown\n"
      "is what was stored at the start.");
  line.SetFooter(
      "Examples:\n"
      "  weir scan '{\"kinds\":[1],\"limit\":10}'               the ten newest notes\n"
      "  weir scan --count '{}'                             how many events there are\n"
      "  weir scan '{\"kinds\":[0]}' '{\"kinds\":[3]}' >a.jsonl  all profiles and contact lists\n"
      "  weir scan '{\"#t\":[\"weir\"],\"since\":1700000000}'     a hashtag since a moment\n");
  ReadingFlags flags;
  std::vector<std::string> texts;
  bool count = false;
  AddTo(line, flags);
  line.Add("filter", &texts, "filters as in a REQ of NIP-01; {} is all").Required();
  line.Add("--count", &count, "print how many match instead of the events");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;

  Result<std::vector<Filter>> filters = ParseFilters(texts);
  if (!filters.ok()) return line.Fail(filters.status());
  const auto store = OpenForReading(flags);
  if (!store.ok()) return line.Fail(store.status());
  const Status printed = PrintMatches(*store.value(), std::move(filters).value(), count);
  return printed.ok() ? 0 : line.Fail(printed, 1);
}

}  // namespace weir
