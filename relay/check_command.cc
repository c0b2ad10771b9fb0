#include "relay/check_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "config/clock.h"
#include "relay/reading_command.h"
#include "relay/store/store_check.h"
#include "relay/store/store_compare.h"

namespace weir {
namespace {

struct Flags {
  ReadingFlags reading;
  CheckOptions check;
  std::string other;  // --compare
};

void AddTo(CLI::App& app, Flags& flags) {
  AddTo(app, flags.reading);
  CLI::Option* signatures = app.add_flag("--signatures", flags.check.signatures,
                                         "also check every event's id and signature; a minute a million");
  app.add_option("--compare", flags.other,
                 "instead: whether this other data directory, or directory of a database, holds the same events and "
                 "marks of deletion, in whatever order they came")
      ->excludes(signatures);
  app.add_option("--examples", flags.check.examples, "how many of each kind of damage or difference to show")
      ->capture_default_str();
  app.footer(
      "Examples:\n"
      "  weir check\n"
      "  weir check --data-dir /var/lib/weir --signatures\n"
      "  weir check --data-dir ./data --compare ./copy\n");
}

int CannotBeChecked(const Status& status) {
  std::fprintf(stderr, "weir check: %s\n", status.message().c_str());
  return 2;
}

int Compare(const RocksDbStore& store, const Flags& flags) {
  const auto other = OpenForReading(flags.other);
  if (!other.ok()) return CannotBeChecked(other.status());
  const CompareOptions options{.now_seconds = WallClock::System().NowSeconds(), .examples = flags.check.examples};
  const Result<CheckReport> report = CompareStores(store, *other.value(), options);
  if (!report.ok()) return CannotBeChecked(report.status());
  std::fputs(ComparisonText(report.value()).c_str(), stdout);
  return report.value().clean() ? 0 : 1;
}

}  // namespace

int CheckCommand(int argc, char** argv) {
  CLI::App app(
      "Checks that every stored event has its entries in the index, that the index has no others, that nothing is\n"
      "left of what was deleted, and that the counters are right. Changes nothing; a relay may run meanwhile.\n"
      "Exit status: 0 nothing wrong, or the same as --compare's; 1 damaged, or different; 2 could not be checked.",
      argv[0]);
  Flags flags;
  AddTo(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }

  const auto store = OpenForReading(flags.reading);
  if (!store.ok()) return CannotBeChecked(store.status());
  if (!flags.other.empty()) return Compare(*store.value(), flags);
  const Result<CheckReport> report = CheckStore(*store.value(), flags.check);
  if (!report.ok()) return CannotBeChecked(report.status());
  std::fputs(ToText(report.value()).c_str(), stdout);
  return report.value().clean() ? 0 : 1;
}

}  // namespace weir
