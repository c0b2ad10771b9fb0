#include "relay/commands/scan_command.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/text/json_string.h"
#include "relay/commands/reading_command.h"
#include "relay/search/search_text.h"

namespace weir {
namespace {

// Returns an error if a search finds no words in its text.
Status CheckSearches(const std::vector<Filter>& filters) {
  for (const Filter& filter : filters) {
    if (!filter.search) continue;
    if (filters.size() > 1) return Status::Error("a filter with a search must be the only one");
    if (const auto words = ParseSearch(*filter.search); !words.ok()) return words.status();
  }
  return {};
}

Status PrintMatches(const EventStore& store, std::vector<Filter> filters, bool count_only) {
  // A limit cuts an answer off, too.
  const bool finds_all = std::ranges::none_of(filters, [](const Filter& filter) { return filter.limit.has_value(); });
  const bool searches = std::ranges::any_of(filters, [](const Filter& filter) { return filter.search.has_value(); });
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
  if (searches && finds_all && !query->complete())
    std::fprintf(stderr,
                 "weir scan: this store has not the words of all events; WEIR_SEARCH_KINDS of its relay says for "
                 "which kinds the relay adds them\n");
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
      "  weir scan '{\"#t\":[\"weir\"],\"since\":1700000000}'     a hashtag since a moment\n"
      "  weir scan '{\"search\":\"nostr apps\"}'                what has these words, if the relay searches\n");
  ReadingFlags flags;
  std::vector<std::string> texts;
  bool count = false;
  AddTo(line, flags);
  line.Add("filter", &texts, "filters as in a REQ of NIP-01; {} is all").Required();
  line.Add("--count", &count, "print how many match instead of the events");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;

  Result<std::vector<Filter>> filters = ParseFilters(texts, true);
  if (!filters.ok()) return line.Fail(filters.status());
  if (const Status searches = CheckSearches(filters.value()); !searches.ok()) return line.Fail(searches);
  const auto store = OpenForReading(flags);
  if (!store.ok()) return line.Fail(store.status());
  const Status printed = PrintMatches(*store.value(), std::move(filters).value(), count);
  return printed.ok() ? 0 : line.Fail(printed, 1);
}

}  // namespace weir
