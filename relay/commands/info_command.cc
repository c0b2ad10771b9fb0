#include "relay/commands/info_command.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/terminal_size.h"
#include "config/text/parse.h"
#include "config/text/time_span.h"
#include "relay/commands/reading_command.h"
#include "relay/store/census/census_tables.h"
#include "relay/watch/top/panels.h"
#include "relay/watch/top/terminal.h"

namespace weir {
namespace {

constexpr size_t kNarrowest = 112;  // an npub and its figures

struct InfoFlags {
  ReadingFlags reading;
  bool json = false;
  uint64_t rows = 10;
  uint64_t sample = CensusOptions().sample;
  std::string age;
  std::vector<std::string> kinds;
};

void AddTo(CommandLine& line, InfoFlags& flags) {
  AddTo(line, flags.reading);
  line.Add("--json", &flags.json, "print everything as JSON, with all kinds, months and days");
  line.Add("--rows", &flags.rows, "the most kinds, days, authors and tag values to show").Within(1, 1000).ShowDefault();
  line.Add("--sample", &flags.sample,
           "events of each kind that are read for the sizes; more takes longer and makes ± smaller")
      .Within(2, 100'000)
      .ShowDefault();
  line.Add("--age", &flags.age, "also say what events take whose created_at is at least this long ago, such as 90d")
      .Check("AGE", [](const std::string& age) {
        const Result<uint64_t> seconds = ParseSpan(age);
        if (seconds.ok() && seconds.value() == 0) return Status::Error("an age of 0 has no effect");
        return seconds.ok() ? Status() : Status::Error(Printable(age) + " is " + seconds.status().message());
      });
  line.Add("--kinds", &flags.kinds, "count only these kinds for --age, such as 7,9735").SplitAt(',');
  line.Check([&flags] {
    return flags.kinds.empty() || !flags.age.empty() ? Status() : Status::Error("--kinds has no effect without --age");
  });
  line.SetFooter(
      "Counts are exact, except those by day; on PostgreSQL, entries by tag letter are estimates, too. Sizes are\n"
      "estimated from a sample of the records; the column ± has the error that 19 of 20 estimates keep. The day on\n"
      "which an event came is the latest created_at of the events before it.\n"
      "Exit status: 0 done, 1 reading or printing failed, 2 wrong flags, or no store.\n"
      "\n"
      "Examples:\n"
      "  weir info\n"
      "  weir info --age 90d --kinds 7,9735      what reactions and zaps of more than 90 days take\n"
      "  weir info --json --data-dir /var/lib/weir\n");
}

Result<CensusOptions> OptionsOf(const InfoFlags& flags) {
  CensusOptions options{
      .now_seconds = WallClock::System().NowSeconds(), .most_rows = flags.rows, .sample = flags.sample};
  if (flags.age.empty()) return options;
  OldEvents rule{.before = options.now_seconds - ParseSpan(flags.age).value() + 1};
  if (!flags.kinds.empty()) rule.kinds = KindSet();
  for (const std::string& text : flags.kinds) {
    const Result<uint64_t> kind = ParseUnsigned(text, {.min = 0, .max = 65'535});
    if (!kind.ok()) return Status::Error("--kinds: " + Printable(text) + " is " + kind.status().message());
    rule.kinds.Add(static_cast<uint16_t>(kind.value()), static_cast<uint16_t>(kind.value()));
  }
  options.rule = rule;
  return options;
}

std::string CensusText(const Census& census, size_t rows) {
  LiveRates rates;
  LiveTables tables(rates);
  AddStoredKinds(census, rows, &tables);
  AddStoredMonths(census, &tables);
  AddStoredDays(census, rows, &tables);
  AddStoredAuthors(census, &tables);
  AddStoredLetters(census, &tables);
  AddStoredTags(census, &tables);
  std::string text;
  for (const std::string& sentence : CensusSentences(census)) text += sentence + "\n";
  const PanelShape shape{.width = std::max(kNarrowest, SizeOfTerminal(STDOUT_FILENO).columns),
                         .charset = RawTerminal::CharsetOfLocale()};
  for (const LiveTable& table : std::move(tables).Take()) {
    text += "\n";
    for (const std::string& line : TablePanel(table, shape, table.rows.size()).Lines()) text += line + "\n";
  }
  return text;
}

}  // namespace

int InfoCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Says what takes the room in the store: which kinds, months, authors and tags, how much it grows a\n"
      "day, and what events of an age take. A relay may run meanwhile: what is shown is what was stored at\n"
      "the start. Reads the index and a sample of the events, which takes some seconds for ten million.");
  InfoFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const Result<CensusOptions> options = OptionsOf(flags);
  if (!options.ok()) return line.Fail(options.status());
  const auto store = OpenForReading(flags.reading);
  if (!store.ok()) return line.Fail(store.status());
  const Result<Census> census = TakeCensus(*store.value(), options.value());
  if (!census.ok()) return line.Fail(census.status(), 1);
  return line.Print(flags.json ? CensusJson(census.value()) : CensusText(census.value(), flags.rows));
}

}  // namespace weir
