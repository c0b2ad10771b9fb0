#include "import/sync/sync_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/text/readable.h"
#include "import/sync/remote_relay.h"
#include "import/sync/sync_run.h"
#include "relay/commands/interrupt.h"
#include "relay/commands/progress_line.h"
#include "relay/commands/reading_command.h"
#include "relay/process/logging.h"

namespace weir {
namespace {

constexpr int kNotSynced = 1;
constexpr Duration kShowEvery = std::chrono::milliseconds(200);

struct SyncFlags {
  std::string url;
  std::vector<std::string> filters;
  std::string direction = "both";
  std::string ca_file;
  std::string summary = "text";
  bool dry_run = false;
  bool quiet = false;
};

void AddTo(CommandLine& line, SyncFlags& flags) {
  line.Add("URL", &flags.url, "the other relay, such as wss://relay.example").Required();
  line.Add("--filter", &flags.filters,
           "only events that match this filter of NIP-01; more than once: one after another")
      .OneWordEach();
  line.Add("--dir", &flags.direction, "down: get what only the other relay has; up: send what only this one has; both")
      .OneOf({"both", "up", "down"})
      .ShowDefault();
  line.AddSetting("--data-dir", "DATA_DIR", "where the events are kept, instead of WEIR_DATA_DIR");
  line.Add("--ca", &flags.ca_file, "a file of certificates to trust, instead of the system's");
  line.Add("--dry-run", &flags.dry_run, "only compare, and say how many events are on one side alone");
  line.Add("--summary", &flags.summary, "form of the summary printed at the end").OneOf({"text", "json"}).ShowDefault();
  line.Add("--quiet", &flags.quiet, "no progress");
  line.SetFooter(
      "The two relays compare their sets of events by NIP-77, so only what one of them lacks goes over. A relay that\n"
      "does not know NIP-77 is read page by page instead. Events of the other relay are verified and saved as those "
      "of\n"
      "an import: through the relay that runs on the data directory, as bulk work, or into the database if none runs.\n"
      "Events that only this side has go out as EVENT messages, so the rules of the other relay decide about each.\n"
      "Private ones (direct messages, gift wraps) go out only if --filter names their kinds.\n"
      "\n"
      "If the connection breaks, it connects again. After Ctrl-C or a kill the same command goes on: what went over "
      "is\n"
      "stored, and is not sent again.\n"
      "\n"
      "Examples:\n"
      "  weir sync wss://relay.example\n"
      "  weir sync wss://relay.example --dir down --filter '{\"authors\":[\"…\"]}'\n"
      "  weir sync ws://127.0.0.1:7777 --dry-run               how far apart the two relays are\n"
      "\n"
      "--summary=json prints one object on one line: whole, stored (events here that match), need and have (events "
      "only\n"
      "there and only here), rounds, pages, by_pages (why it was read by pages), cut_seconds (with more events than a "
      "page),\n"
      "bytes_sent, bytes_received, received, missing (announced there and not given), unasked (they do not match the\n"
      "filter), saved (the received events by their outcome, as in weir import), rejected (by reason), accepted "
      "(there),\n"
      "gone (not stored any more), withheld (private), refused (there, by reason), error.\n"
      "\n"
      "Exit status: 0 the sets were compared, and all differences were carried over or refused by a side; 1 it "
      "failed,\n"
      "was stopped, or the other relay did not give all that it has; 2 wrong flags or settings.");
}

// Returns an error for a filter that would not be the same set at both relays.
Result<std::vector<Filter>> FiltersOf(const SyncFlags& flags) {
  if (flags.filters.empty()) return std::vector<Filter>(1);
  Result<std::vector<Filter>> filters = ParseFilters(flags.filters);
  if (!filters.ok()) return filters;
  for (const Filter& filter : filters.value()) {
    if (filter.limit) return Status::Error("a filter of a sync cannot have a limit: name a span with since and until");
  }
  return filters;
}

std::string ProgressText(const SyncCounts& counts) {
  return fmt::format("{} rounds  down {} of {}  up {} of {}", counts.rounds + counts.pages,
                     ShortNumber(counts.received), ShortNumber(std::max(counts.need, counts.received)),
                     ShortNumber(counts.accepted), ShortNumber(counts.have));
}

int Sync(const CommandLine& line, const SyncFlags& flags, std::vector<Filter> filters,
         const RelayConfiguration& configuration) {
  const Interrupt interrupt(configuration.log_format, std::max(configuration.log_level, LogLevel::kError));
  TimePoint shown;
  const auto note = [&](const std::string& text) {
    if (!flags.quiet) std::fprintf(stderr, "sync: %s\n", AsText(text).c_str());
  };
  const auto progress = [&](const SyncCounts& counts) {
    const TimePoint now = Clock::System().Now();
    if (flags.quiet || now - shown < kShowEvery) return;
    shown = now;
    ShowProgress(ProgressText(counts));
  };
  const SyncDirection direction = SyncDirectionNamed(flags.direction).value();
  SyncRun run({.configuration = configuration,
               .url = flags.url,
               .ca_file = flags.ca_file,
               .filters = std::move(filters),
               .direction = direction,
               .dry_run = flags.dry_run,
               .stop = interrupt.token(),
               .on_note = note,
               .on_progress = progress});
  const SyncResult result = run.Run();
  ShowProgress("");
  const std::string text = flags.summary == "json" ? ToJsonLine(result) : ToText(result, direction, flags.dry_run);
  if (const int failed = line.Print(text, 0, kNotSynced); failed != 0) return failed;
  if (!result.status.ok()) return line.Fail(result.status, kNotSynced);
  return result.counts.is_whole() ? 0 : kNotSynced;
}

}  // namespace

int SyncCommand(int argc, char** argv) {
  CommandLine line(argv[0], "Makes the stored events and those of another relay equal, whichever way they differ.");
  SyncFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  if (const Status url = RemoteRelay::CheckUrl(flags.url); !url.ok()) return line.Fail(url);
  Result<std::vector<Filter>> filters = FiltersOf(flags);
  if (!filters.ok()) return line.Fail(filters.status());
  RelayConfiguration configuration;
  SettingTable table;
  const Status loaded = LoadRelayConfiguration(table, ProcessEnvironment(), line.settings(), &configuration);
  if (!loaded.ok()) return line.Fail(loaded);
  const int code = Sync(line, flags, std::move(filters).value(), configuration);
  StopLogging();
  return code;
}

}  // namespace weir
