#include "import/migrate/migrate_command.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/command_line.h"
#include "config/text/readable.h"
#include "import/migrate/migration.h"
#include "import/run/progress_display.h"
#include "relay/commands/reading_command.h"
#include "relay/operator/relay_configuration.h"

namespace weir {
namespace {

constexpr int kDifferent = 1;
constexpr std::string_view kRocksDb = "rocksdb:";

struct MigrateFlags {
  std::string from;
  std::string to;
  bool again = false;
  bool quiet = false;
};

void AddTo(CommandLine& line, MigrateFlags& flags) {
  line.Add("--from", &flags.from, "rocksdb:DIR, a relay's data directory")
      .Check("rocksdb:DIR", [](const std::string& f) {
        return f.starts_with(kRocksDb) && f.size() > kRocksDb.size()
                   ? Status()
                   : Status::Error(
                         "weir migrate copies only the database of a data directory; for any other source use weir "
                         "export and weir import");
      });
  line.Add("--to", &flags.to, "postgres://user@host1,host2/database, as in WEIR_STORE")
      .Check("URL", [](const std::string& to) {
        return IsPostgres(to) ? Status() : Status::Error("expected an address that begins with postgres://");
      });
  line.Add("--again", &flags.again, "start from the beginning; events that are already there stay");
  line.Add("--quiet", &flags.quiet, "print only errors and differences");
  line.SetFooter(
      "Copies the events in their order of arrival, no faster than PostgreSQL can take them, and the marks of deleted\n"
      "events; then compares every event and mark. The other settings (WEIR_RELAY_URL, the limiter's) are those of\n"
      "weir relay. A relay may run on the directory meanwhile. At the end, stop it and run this again: the second run\n"
      "copies the events added since and removes those deleted since. An interrupted migration continues where it\n"
      "stopped. --again starts over, and finds copied events that have gone missing.\n"
      "\n"
      "Examples:\n"
      "  weir migrate --from rocksdb:./data --to postgres://weir@db1,db2/relay\n"
      "  weir check --data-dir ./data    check first that the database is whole\n"
      "\n"
      "Exit status: 0 everything was copied, 1 something is missing or differs, 2 it could not be copied.");
}

std::string Bar(const ProgressNumbers& progress, uint64_t expected) {
  const uint64_t events = progress.tally.events();
  std::string text = ShortNumber(events) + " events  " + ShortNumber(AsCount(progress.events_per_s)) + "/s";
  if (expected > 0) text += "  " + std::to_string(std::min<uint64_t>(99, 100 * events / expected)) + " %";
  return text;
}

Result<MigrationProgress> Copy(const RocksDbStore& from, Storage& to, MigrationOptions options, bool quiet) {
  using Style = ProgressDisplayParts::Style;
  std::atomic<uint64_t> copied = 0;
  options.on_progress = [&copied](const MigrationProgress& progress) { copied = progress.events; };
  ProgressDisplay display(
      {.style = !quiet && CanDrawLines() ? Style::kBar : Style::kNone,
       .progress =
           [&copied] {
             ProgressNumbers numbers{.begun = true};
             numbers.tally[LineOutcome::kImported] = copied;
             return numbers;
           },
       .bar = [expected = from.Sizes().events](const ProgressNumbers& now, size_t) { return Bar(now, expected); }});
  display.Start();
  return CopyAll(from, to, options);
}

Result<CheckReport> Migrate(const RocksDbStore& from, Storage& to, const MigrateFlags& flags) {
  const MigrationOptions options{.now_seconds = WallClock::System().NowSeconds(), .from_the_beginning = flags.again};
  const Result<MigrationProgress> copied = Copy(from, to, options, flags.quiet);
  if (!copied.ok()) return copied.status();
  if (Status analyzed = to.postgres_store()->Analyze(); !analyzed.ok()) return analyzed;
  const MigrationProgress& p = copied.value();
  if (!flags.quiet)
    std::fprintf(stderr,
                 "copied %" PRIu64 " events (%" PRIu64 " were there, %" PRIu64 " are no longer needed) and %" PRIu64
                 " marks; comparing\n",
                 p.saved, p.present, p.dropped, p.marks);
  return CompareWith(from, to, options);
}

}  // namespace

int MigrateCommand(int argc, char** argv) {
  CommandLine line(argv[0],
                   "Copies the database of a relay's data directory into a PostgreSQL database, and compares both.");
  MigrateFlags flags;
  AddTo(line, flags);
  line.Check([&flags] {
    return flags.from.empty() || flags.to.empty() ? Status::Error("name both --from and --to") : Status();
  });
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const auto from = OpenNamedDatabase(flags.from.substr(kRocksDb.size()));
  if (!from.ok()) return line.Fail(from.status());
  RelayConfiguration configuration;
  SettingTable table;
  Declare(table, configuration);
  if (Status loaded = table.Load(ProcessEnvironment()); !loaded.ok()) return line.Fail(loaded);
  configuration.storage.store = flags.to;
  if (Status checked = Check(configuration); !checked.ok()) return line.Fail(checked);
  StorageOptions options{.settings = configuration.storage, .data_dir = configuration.data_dir, .for_import = true};
  if (!configuration.relay.url.empty()) options.own_urls.push_back(configuration.relay.url);
  const auto to = Storage::Open(options);
  if (!to.ok()) return line.Fail(to.status());
  const Result<CheckReport> report = Migrate(*from.value(), *to.value(), flags);
  if (!report.ok()) return line.Fail(report.status());
  if (!flags.quiet || !report.value().clean()) std::fputs(ComparisonText(report.value()).c_str(), stdout);
  return report.value().clean() ? 0 : kDifferent;
}

}  // namespace weir
