#include "relay/store/census/census_tables.h"

#include <algorithm>
#include <utility>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

constexpr Month kMonthsShown = 12;
constexpr double kFarAway = 3650;  // days

double Share(double part, double all) { return all > 0 ? part / all : 0; }

// Returns the cells of an amount: the columns of kAmountColumns.
std::vector<std::string> AmountCells(std::string name, const Amount& amount, const Census& census) {
  const double bytes = census.price.DiskBytes(amount);
  const auto all = static_cast<double>(census.disk.events + census.disk.index);
  return {std::move(name),
          ShortNumber(amount.events),
          Percent(Share(static_cast<double>(amount.events), static_cast<double>(census.all.events))),
          ReadableBytes(RoundedCount(bytes)),
          Percent(Share(census.price.ErrorBytes(amount), bytes)),
          Percent(Share(bytes, all))};
}

std::vector<LiveColumn> AmountColumns(const std::string& name) {
  return {{name}, {"events", true}, {"share", true}, {"disk", true}, {"±", true}, {"of disk", true}};
}

std::vector<std::string> EntryCells(std::string name, uint64_t entries, const Census& census) {
  return {std::move(name), ShortNumber(entries),
          ReadableBytes(RoundedCount(static_cast<double>(entries) * census.price.entry))};
}

std::vector<LiveColumn> EntryColumns(const std::string& name) {
  return {{name}, {"index entries", true}, {"disk", true}};
}

std::string Growth(const Census& census) {
  const Census::Growth growth = census.GrowthADay();
  std::string text = "It grew by " + ShortNumber(RoundedCount(growth.events)) + " events and " +
                     ReadableBytes(RoundedCount(growth.bytes)) + " a day in the last week.";
  const std::optional<double> days = census.DaysUntilFull();
  if (days && *days < kFarAway)
    text += " At this rate the disk is full in " + std::to_string(RoundedCount(*days)) + " days.";
  return text;
}

}  // namespace

std::vector<std::string> CensusSentences(const Census& census) {
  const Census::Disk& disk = census.disk;
  std::string size = ShortNumber(census.all.events) + " events are stored. On the disk, their records take " +
                     ReadableBytes(disk.events) + ", the index " + ReadableBytes(disk.index);
  if (disk.log > 0) size += ", the write-ahead log " + ReadableBytes(disk.log);
  size += ", other files " + ReadableBytes(disk.other) + ".";
  if (disk.free_bytes) size += " " + ReadableBytes(*disk.free_bytes) + " are free.";
  std::vector<std::string> sentences{size, Growth(census)};
  if (census.rule) {
    sentences.push_back("The rule matches " + ShortNumber(census.matched.events) + " events, which take " +
                        ReadableBytes(census.DiskBytes(census.matched)) + " (±" +
                        ReadableBytes(RoundedCount(census.price.ErrorBytes(census.matched))) + ").");
  }
  return sentences;
}

void AddStoredKinds(const Census& census, size_t most, LiveTables* tables) {
  LiveTable& table = tables->Add("stored_kinds", "Stored, by kind", AmountColumns("kind"), "no events");
  for (size_t i = 0; i < std::min(most, census.kinds.size()); ++i)
    table.rows.push_back(AmountCells(std::to_string(census.kinds[i].kind), census.kinds[i].amount, census));
  table.left_out = census.kinds.size() - table.rows.size();
}

void AddStoredDays(const Census& census, size_t most, LiveTables* tables) {
  LiveTable& table = tables->Add("stored_days", "Stored, by the day on which events came",
                                 {{"day"}, {"events", true}, {"disk", true}}, "no events");
  for (auto at = census.days.rbegin(); at != census.days.rend() && table.rows.size() < most; ++at)
    table.rows.push_back(
        {DayName(at->first), ShortNumber(at->second.events), ReadableBytes(census.DiskBytes(at->second))});
  table.left_out = census.days.size() - table.rows.size();
}

void AddStoredMonths(const Census& census, LiveTables* tables) {
  const Month present = MonthOf(census.at_seconds, census.at_seconds);
  std::vector<std::pair<std::string, Amount>> rows;
  for (auto at = census.months.rbegin(); at != census.months.rend(); ++at) {
    const Month month = at->first;
    const bool alone = month == kBefore2020 || month + kMonthsShown > present;
    const std::string name = alone ? MonthName(month) : std::to_string(month / 12);
    if (rows.empty() || rows.back().first != name) rows.emplace_back(name, Amount());
    rows.back().second += at->second;
  }
  LiveTable& table = tables->Add("stored_months", "Stored, by created_at", AmountColumns("month or year"), "no events");
  for (const auto& [name, amount] : rows) table.rows.push_back(AmountCells(name, amount, census));
}

void AddStoredAuthors(const Census& census, LiveTables* tables) {
  LiveTable& table = tables->Add("stored_authors", "Largest authors", AmountColumns("author"), "none");
  for (const Census::OfAuthor& each : census.authors)
    table.rows.push_back(AmountCells(ToNpub(each.author), each.amount, census));
}

void AddStoredLetters(const Census& census, LiveTables* tables) {
  LiveTable& table = tables->Add("stored_letters", "Index entries of tags", EntryColumns("tag"), "none");
  for (const Census::OfLetter& each : census.letters)
    table.rows.push_back(EntryCells("#" + std::string(1, each.letter), each.entries, census));
}

void AddStoredTags(const Census& census, LiveTables* tables) {
  LiveTable& table = tables->Add("stored_tags", "Largest tag values", EntryColumns("tag"), "none");
  for (const Census::OfTag& each : census.tags)
    table.rows.push_back(
        EntryCells("#" + std::string(1, each.letter) + " " + Printable(each.value), each.entries, census));
}

}  // namespace weir
