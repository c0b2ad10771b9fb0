#include "import/export/export_command.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/command_line.h"
#include "config/replace_file.h"
#include "config/text/moment.h"
#include "config/text/readable.h"
#include "import/export/encoder.h"
#include "import/export/exporter.h"
#include "import/run/progress_display.h"
#include "relay/commands/reading_command.h"
#include "relay/store/moment_text.h"

namespace weir {
namespace {

constexpr int kFailed = 1;
constexpr Slice kSlice{.max_work = 10 * kTurnWork, .max_bytes = 4 << 20};

struct ExportFlags {
  ReadingFlags reading;
  std::vector<std::string> filters;
  std::string since;
  std::string until;
  std::string order = "arrival";
  std::string since_serial;
  std::string serial_to;
  std::string output = "-";
  bool quiet = false;
};

void AddTo(CommandLine& line, ExportFlags& flags) {
  AddTo(line, flags.reading);
  line.Add("--filter", &flags.filters, "only events that match this filter of NIP-01; more than once: any of them")
      .OneWordEach();
  line.Add("--since", &flags.since, "only events created at or after this moment");
  line.Add("--until", &flags.until, "only events created at or before this moment");
  line.Add("--order", &flags.order,
           "arrival: as they came, the quickest; oldest: by created_at, the oldest first; newest: the newest first")
      .ShowDefault();
  line.Add("--since-serial", &flags.since_serial,
           "only events that were saved since the export that ended with this number; 0: all");
  line.Add("--serial-to", &flags.serial_to, "a file for the number from which a later export goes on");
  line.Add("-o,--output", &flags.output, "where to; FILE.gz and FILE.zst are compressed, - is standard output")
      .ShowDefault();
  line.Add("--quiet", &flags.quiet, "say nothing but errors");
  line.SetFooter(
      "A moment is in seconds since 1970, a day as 2026-01-31 (of --until: its last second), or a time as\n"
      "2026-01-31T12:00:00Z. A file is there when it is whole: until then it is FILE.part.\n"
      "\n"
      "Examples:\n"
      "  weir export -o backup.jsonl.zst                              everything, compressed\n"
      "  weir export --filter '{\"kinds\":[0,3]}' >profiles.jsonl       profiles and contact lists\n"
      "  weir export --since 2026-01-01 --until 2026-01-31 --order oldest -o january.jsonl.gz\n"
      "  weir export --order newest --filter '{\"limit\":100}'          the last hundred\n"
      "  weir export | weir import --data-dir other -                 a copy\n"
      "  weir export --since-serial \"$(cat at)\" --serial-to at -o new.jsonl   what was saved since the last time\n"
      "\n"
      "Exit status: 0 exported, 1 the output cannot be made, reading or writing failed, or the pipe's reader has "
      "gone,\n"
      "2 wrong flags or no database.");
}

Status ReadMoment(const std::string& flag, const std::string& text, OfTheDay day, std::optional<uint64_t>* moment) {
  if (text.empty()) return {};
  const Result<uint64_t> parsed = ParseMoment(text, day);
  if (!parsed.ok()) return Status::Error(flag + ": " + parsed.status().message());
  *moment = parsed.value();
  return {};
}

Result<ExportPlan> PlanOf(const ExportFlags& flags) {
  ExportPlan plan;
  plan.now_seconds = WallClock::System().NowSeconds();
  const Result<ExportOrder> order = ParseExportOrder(flags.order);
  if (!order.ok()) return Status::Error("--order: " + order.status().message());
  plan.order = order.value();
  Status status = ReadMoment("--since", flags.since, OfTheDay::kFirst, &plan.since);
  if (status.ok()) status = ReadMoment("--until", flags.until, OfTheDay::kLast, &plan.until);
  if (!status.ok()) return status;
  if (!flags.since_serial.empty()) {
    Result<Moment> after = ParseSerials(flags.since_serial);
    if (!after.ok()) return Status::Error("--since-serial: " + after.status().message());
    plan.after = std::move(after).value();
  }
  if (!flags.serial_to.empty() && plan.order != ExportOrder::kArrival)
    return Status::Error("--serial-to needs --order arrival");
  Result<std::vector<Filter>> filters = ParseFilters(flags.filters);
  if (!filters.ok()) return filters.status();
  plan.filters = std::move(filters).value();
  if (status = Check(plan); !status.ok()) return status;
  return plan;
}

// Some of the expected events may have expired, and the store may have saved others since the start, so the bar shows
// at most 99 %.
std::string ExportBar(const ProgressNumbers& progress, uint64_t expected) {
  const uint64_t events = progress.tally.events();
  std::string text = ShortNumber(events) + " events  " + ShortNumber(RoundedCount(progress.events_per_s)) + "/s  " +
                     ReadableBytes(progress.tally.bytes);
  if (expected > 0) text += "  " + std::to_string(std::min<uint64_t>(99, 100 * events / expected)) + " %";
  return text;
}

Status KeepSerial(const std::string& file, const std::string& serial) {
  if (file.empty() || ReplaceFile(file, serial + "\n")) return {};
  return Status::Error("cannot write " + file + ": " + std::strerror(errno));
}

Status Export(const EventStore& store, ExportPlan plan, const ExportFlags& flags, Encoder* encoder) {
  const bool quiet = flags.quiet;
  const bool by_arrival = plan.order == ExportOrder::kArrival;
  using Style = ProgressDisplayParts::Style;
  const bool all = plan.filters.empty() && !plan.since && !plan.until && plan.after.last().empty();
  const uint64_t expected = all ? store.Sizes().events : 0;
  uint64_t events = 0;
  std::atomic<uint64_t> shown_events = 0;
  std::atomic<uint64_t> shown_bytes = 0;
  const auto numbers = [&] {
    ProgressNumbers progress{.begun = true};
    progress.tally[LineOutcome::kImported] = shown_events;
    progress.tally.bytes = shown_bytes;
    return progress;
  };
  ProgressDisplay display({.style = !quiet && CanDrawLines() ? Style::kBar : Style::kNone,
                           .progress = numbers,
                           .bar = [=](const ProgressNumbers& now, size_t) { return ExportBar(now, expected); }});
  display.Start();
  const auto exporter = Exporter::Make(store, std::move(plan));
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
    shown_events = events;
    shown_bytes = encoder->bytes_taken();
  }
  if (Status finished = encoder->Finish(); !finished.ok()) return finished;
  display.Stop();
  const std::string serial = ToText(exporter->reached());
  if (Status kept = KeepSerial(flags.serial_to, serial); !kept.ok()) return kept;
  if (!quiet) {
    const std::string next = by_arrival ? "; a later export goes on with --since-serial " + serial : "";
    std::fprintf(stderr, "exported %" PRIu64 " events, %s%s\n", events, ReadableBytes(encoder->bytes_taken()).c_str(),
                 next.c_str());
  }
  return {};
}

}  // namespace

int ExportCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Writes the stored events as JSON Lines, one event a line, as `weir import` takes them. Events that expired are\n"
      "left out. A relay may run meanwhile: what is written is what was stored at the start.");
  ExportFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  // With these signals ignored, the write fails, and its error is printed.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  Result<ExportPlan> plan = PlanOf(flags);
  if (!plan.ok()) return line.Fail(plan.status());
  const auto store = OpenForReading(flags.reading);
  if (!store.ok()) return line.Fail(store.status());
  if (const Status known = CheckAfter(*store.value(), plan.value().after); !known.ok())
    return line.Fail(Status::Error("--since-serial " + known.message()));
  const auto encoder = Encoder::Create(flags.output);
  if (!encoder.ok()) return line.Fail(encoder.status(), kFailed);
  const Status status = Export(*store.value(), std::move(plan).value(), flags, encoder.value().get());
  if (status.ok()) return 0;
  return encoder.value()->reader_gone() ? kFailed : line.Fail(status, kFailed);
}

}  // namespace weir
