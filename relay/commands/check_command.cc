#include "relay/commands/check_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/text/readable.h"
#include "relay/commands/reading_command.h"
#include "relay/store/store_check.h"
#include "relay/store/store_compare.h"
#include "relay/upkeep/backup_directory.h"

namespace weir {
namespace {

struct CheckFlags {
  std::string directory;  // DIR
  ReadingFlags reading;
  CheckOptions check;
  std::string other;  // --compare
};

void AddTo(CommandLine& line, CheckFlags& flags) {
  AddTo(line, flags.reading);
  line.Add(
          "DIR", &flags.directory,
          "instead of the relay's database: a backup, a directory of backups (its newest is checked), a data directory "
          "or a database")
      .Excludes("--data-dir");
  line.Add("--signatures", &flags.check.signatures, "also check every event's id and signature; a minute a million");
  line.Add("--compare", &flags.other,
           "instead: whether this other data directory, or directory of a database, holds the same events and "
           "marks of deletion, in whatever order they came")
      .Excludes("--signatures");
  line.Add("--examples", &flags.check.examples, "how many of each kind of damage or difference to show").ShowDefault();
  line.SetFooter(
      "Examples:\n"
      "  weir check\n"
      "  weir check --data-dir /var/lib/weir --signatures\n"
      "  weir check --data-dir ./data --compare ./copy\n"
      "  weir check /backup/weir\n");
}

Result<CheckReport> Compare(const RocksDbStore& store, const CheckFlags& flags) {
  const auto other = OpenNamedDatabase(flags.other);
  if (!other.ok()) return other.status();
  return CompareStores(store, *other.value(),
                       {.now_seconds = WallClock::System().NowSeconds(), .examples = flags.check.examples});
}

// Returns the directory to check, for one that may have backups.
std::string NewestIn(const std::string& directory) {
  const std::vector<std::string> backups = BackupsIn(directory);
  if (backups.empty()) return directory;
  std::fprintf(stderr, "checking the newest backup, %s\n", AsText(backups.back()).c_str());
  return backups.back();
}

}  // namespace

int CheckCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Checks that every stored event has its entries in the index, that the index has no others, that nothing is\n"
      "left of what was deleted, and that the counters are right. Changes nothing; a relay may run meanwhile.\n"
      "Exit status: 0 nothing wrong, or the same as --compare's; 1 damaged, or different; 2 could not be checked.");
  CheckFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;

  const auto store =
      flags.directory.empty() ? OpenDatabaseForReading(flags.reading) : OpenNamedDatabase(NewestIn(flags.directory));
  if (!store.ok()) return line.Fail(store.status());
  const bool compares = !flags.other.empty();
  const Result<CheckReport> report =
      compares ? Compare(*store.value(), flags) : CheckStore(*store.value(), flags.check);
  if (!report.ok()) return line.Fail(report.status());
  std::fputs((compares ? ComparisonText(report.value()) : ToText(report.value())).c_str(), stdout);
  return report.value().clean() ? 0 : 1;
}

}  // namespace weir
