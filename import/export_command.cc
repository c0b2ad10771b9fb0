#include "import/export_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "import/encoder.h"
#include "import/exporter.h"
#include "import/moment.h"
#include "import/progress.h"
#include "import/readable.h"
#include "relay/reading_command.h"

namespace weir {
namespace {

constexpr int kFailed = 1;
constexpr int kWrong = 2;
constexpr Slice kSlice{.max_visits = 10'000, .max_bytes = 4 << 20};

struct Flags {
  ReadingFlags reading;
  std::vector<std::string> filters;
  std::string since;
  std::string until;
  std::string order = "arrival";
  std::string output = "-";
  bool quiet = false;
};

void AddTo(CLI::App& app, Flags& flags) {
  AddTo(app, flags.reading);
  app.add_option("--filter", flags.filters, "only events that match this filter of NIP-01; more than once: any of them")
      ->allow_extra_args(false);
  app.add_option("--since", flags.since, "only events created at or after this moment");
  app.add_option("--until", flags.until, "only events created at or before this moment");
  app.add_option(
         "--order", flags.order,
         "arrival: as they came, the quickest; oldest: by created_at, the oldest first; newest: the newest first")
      ->capture_default_str();
  app.add_option("-o,--output", flags.output, "where to; FILE.gz and FILE.zst are compressed, - is standard output")
      ->capture_default_str();
  app.add_flag("--quiet", flags.quiet, "say nothing but errors");
  app.footer(
      "A moment is in seconds since 1970, a day as 2026-01-31 (of --until: its last second), or a time as\n"
      "2026-01-31T12:00:00Z. A file is there when it is whole: until then it is FILE.part.\n"
      "\n"
      "Examples:\n"
      "  weir export -o backup.jsonl.zst                              everything, compressed\n"
      "  weir export --filter '{\"kinds\":[0,3]}' >profiles.jsonl       profiles and contact lists\n"
      "  weir export --since 2026-01-01 --until 2026-01-31 --order oldest -o january.jsonl.gz\n"
      "  weir export --order newest --filter '{\"limit\":100}'          the last hundred\n"
      "  weir export | weir import --data-dir other -                 a copy\n"
      "\n"
      "Exit status: 0 exported, 1 the output cannot be made, reading or writing failed, or the pipe's reader has "
      "gone,\n"
      "2 wrong flags or no database.");
}

Status AddFilters(const Flags& flags, ExportPlan* plan) {
  for (const std::string& text : flags.filters) {
    Result<Filter> filter = ParseFilter(text, {.max_values = std::numeric_limits<size_t>::max()});
    if (!filter.ok()) return Status::Error("the filter " + text + " is wrong: " + filter.status().message());
    plan->filters.push_back(std::move(filter).value());
  }
  return {};
}

Result<ExportPlan> PlanOf(const Flags& flags) {
  ExportPlan plan;
  plan.now_seconds = WallClock::System().NowSeconds();
  const Result<ExportOrder> order = ParseExportOrder(flags.order);
  if (!order.ok()) return Status::Error("--order: " + order.status().message());
  plan.order = order.value();
  if (!flags.since.empty()) {
    const Result<uint64_t> since = ParseMoment(flags.since, OfTheDay::kFirst);
    if (!since.ok()) return Status::Error("--since: " + since.status().message());
    plan.since = since.value();
  }
  if (!flags.until.empty()) {
    const Result<uint64_t> until = ParseMoment(flags.until, OfTheDay::kLast);
    if (!until.ok()) return Status::Error("--until: " + until.status().message());
    plan.until = until.value();
  }
  if (Status status = AddFilters(flags, &plan); !status.ok()) return status;
  if (Status status = Check(plan); !status.ok()) return status;
  return plan;
}

// Of those that are expected some may have expired, and others came since: 100 % is when it is done.
std::string ExportProgress(uint64_t events, uint64_t bytes, double events_per_s, uint64_t expected) {
  std::string text = ShortNumber(events) + " events  " +
                     ShortNumber(static_cast<uint64_t>(std::llround(events_per_s))) + "/s  " + ReadableBytes(bytes);
  if (expected > 0) text += "  " + std::to_string(std::min<uint64_t>(99, 100 * events / expected)) + " %";
  return text;
}

// On standard error: one line that is written over while it goes on, where that is a terminal, and one at the end.
class Progressing {
 public:
  Progressing(bool quiet, uint64_t expected)
      : quiet_(quiet), shows_(!quiet && isatty(STDERR_FILENO) == 1), expected_(expected) {
    rate_.Add(shown_, 0, 0);
  }
  ~Progressing() { Clear(); }

  void Show(uint64_t events, uint64_t bytes) {
    const TimePoint now = Clock::System().Now();
    if (!shows_ || now < shown_ + std::chrono::milliseconds(200)) return;
    shown_ = now;
    rate_.Add(now, events, bytes);
    std::fprintf(stderr, "\r\033[K%s", ExportProgress(events, bytes, rate_.events_per_s(), expected_).c_str());
    std::fflush(stderr);
    cleared_ = false;
  }

  void Done(uint64_t events, uint64_t bytes) {
    Clear();
    if (!quiet_) std::fprintf(stderr, "exported %" PRIu64 " events, %s\n", events, ReadableBytes(bytes).c_str());
  }

 private:
  void Clear() {
    if (!cleared_) std::fputs("\r\033[K", stderr);
    cleared_ = true;
  }

  const bool quiet_;
  const bool shows_;
  const uint64_t expected_;
  TimePoint shown_ = Clock::System().Now();
  RateWindow rate_;
  bool cleared_ = true;
};

Status Export(const EventStore& store, ExportPlan plan, bool quiet, Encoder* encoder) {
  const bool all = plan.filters.empty() && !plan.since && !plan.until;
  Progressing progressing(quiet, all ? store.Sizes().events : 0);
  const auto exporter = Exporter::Make(store, std::move(plan));
  uint64_t events = 0;
  Status written;
  const auto write = [&](EventView event) {
    if (written.ok()) written = encoder->Write(event.json());
    if (written.ok()) written = encoder->Write("\n");
    ++events;
  };
  for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
    const Result<Progress> next = exporter->Next(kSlice, write);
    if (!next.ok()) return next.status();
    if (!written.ok()) return written;
    progress = next.value();
    progressing.Show(events, encoder->bytes_taken());
  }
  if (Status finished = encoder->Finish(); !finished.ok()) return finished;
  progressing.Done(events, encoder->bytes_taken());
  return {};
}

int Complain(const Status& status, int code) {
  std::fprintf(stderr, "weir export: %s\n", status.message().c_str());
  return code;
}

}  // namespace

int ExportCommand(int argc, char** argv) {
  CLI::App app(
      "Writes the stored events as JSON Lines, one event a line, as `weir import` takes them. Events that expired are\n"
      "left out. A relay may run meanwhile: what is written is what was stored at the start.",
      argv[0]);
  Flags flags;
  AddTo(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kWrong;
  }
  // Both are told by the call that writes.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  Result<ExportPlan> plan = PlanOf(flags);
  if (!plan.ok()) return Complain(plan.status(), kWrong);
  const auto store = OpenForReading(flags.reading);
  if (!store.ok()) return Complain(store.status(), kWrong);
  const auto encoder = Encoder::Create(flags.output);
  if (!encoder.ok()) return Complain(encoder.status(), kFailed);
  const Status status = Export(*store.value(), std::move(plan).value(), flags.quiet, encoder.value().get());
  if (status.ok()) return 0;
  return encoder.value()->reader_gone() ? kFailed : Complain(status, kFailed);
}

}  // namespace weir
