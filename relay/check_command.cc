#include "relay/check_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "relay/reading_command.h"
#include "relay/store/store_check.h"

namespace weir {

int CheckCommand(int argc, char** argv) {
  CLI::App app(
      "Checks that every stored event has its entries in the index, that the index has no others, that nothing is\n"
      "left of what was deleted, and that the counters are right. Changes nothing; a relay may run meanwhile.\n"
      "Exit status: 0 nothing wrong, 1 damaged, 2 could not be checked.",
      argv[0]);
  app.footer(
      "Examples:\n"
      "  weir check\n"
      "  weir check --data-dir /var/lib/weir --signatures\n");
  ReadingFlags flags;
  CheckOptions options;
  AddTo(app, flags);
  app.add_flag("--signatures", options.signatures, "also check every event's id and signature; a minute a million");
  app.add_option("--examples", options.examples, "how many of each kind of damage to show")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }

  const auto store = OpenForReading(flags);
  if (!store.ok()) {
    std::fprintf(stderr, "weir check: %s\n", store.status().message().c_str());
    return 2;
  }
  const Result<CheckReport> report = CheckStore(*store.value(), options);
  if (!report.ok()) {
    std::fprintf(stderr, "weir check: %s\n", report.status().message().c_str());
    return 2;
  }
  std::fputs(ToText(report.value()).c_str(), stdout);
  return report.value().clean() ? 0 : 1;
}

}  // namespace weir
