#include "relay/scan_command.h"

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/nostr/filter.h"
#include "relay/reading_command.h"

namespace weir {
namespace {

constexpr uint64_t kAll = std::numeric_limits<int64_t>::max();

Result<std::vector<Filter>> Parse(const std::vector<std::string>& texts) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) {
    Result<Filter> filter = ParseFilter(text, {.max_values = std::numeric_limits<size_t>::max()});
    if (!filter.ok()) return Status::Error("the filter " + text + " is wrong: " + filter.status().message());
    filters.push_back(std::move(filter).value());
  }
  return filters;
}

Status Scan(const EventStore& store, std::vector<Filter> filters, bool count_only) {
  const auto query = store.Find(
      std::move(filters), {.now_seconds = WallClock::System().NowSeconds(), .default_limit = kAll, .max_limit = kAll});
  uint64_t count = 0;
  bool written = true;
  const auto print = [&](EventView event) {
    ++count;
    if (count_only || !written) return;
    const std::string_view json = event.json();
    written = std::fwrite(json.data(), 1, json.size(), stdout) == json.size() && std::putc('\n', stdout) != EOF;
  };
  for (Progress progress = Progress::kMore; written && progress == Progress::kMore;) {
    const Result<Progress> next = query->Next({.max_visits = 100'000, .max_bytes = 16 << 20}, print);
    if (!next.ok()) return next.status();
    progress = next.value();
  }
  if (count_only) std::printf("%" PRIu64 "\n", count);
  if (std::fflush(stdout) != 0 || !written) return Status::Error("cannot write to standard output");
  return {};
}

}  // namespace

int ScanCommand(int argc, char** argv) {
  CLI::App app(
      "Prints the stored events that match any of the filters, one JSON object a line, newest first. Without a limit\n"
      "in the filter that is all of them. Events that expired are left out. A relay may run meanwhile: what is shown\n"
      "is what was stored at the start.",
      argv[0]);
  app.footer(
      "Examples:\n"
      "  weir scan '{\"kinds\":[1],\"limit\":10}'               the ten newest notes\n"
      "  weir scan --count '{}'                             how many events there are\n"
      "  weir scan '{\"kinds\":[0]}' '{\"kinds\":[3]}' >a.jsonl  all profiles and contact lists\n"
      "  weir scan '{\"#t\":[\"weir\"],\"since\":1700000000}'     a hashtag since a moment\n");
  ReadingFlags flags;
  std::vector<std::string> texts;
  bool count = false;
  AddTo(app, flags);
  app.add_option("filter", texts, "filters as in a REQ of NIP-01; {} is all")->required();
  app.add_flag("--count", count, "print how many match instead of the events");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }

  Result<std::vector<Filter>> filters = Parse(texts);
  if (!filters.ok()) {
    std::fprintf(stderr, "weir scan: %s\n", filters.status().message().c_str());
    return 2;
  }
  const auto store = OpenForReading(flags);
  if (!store.ok()) {
    std::fprintf(stderr, "weir scan: %s\n", store.status().message().c_str());
    return 2;
  }
  if (const Status status = Scan(*store.value(), std::move(filters).value(), count); !status.ok()) {
    std::fprintf(stderr, "weir scan: %s\n", status.message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace weir
