#include "relay/store/postgres/postgres_word_build.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "relay/search/searched_kinds.h"
#include "relay/store/postgres/postgres_edit_statements.h"
#include "relay/store/postgres/postgres_words.h"
#include "relay/store/postgres/schema.h"

namespace weir {
namespace {

// The words have no foreign key, because a partitioned weir_events has no unique key that it could name (schema.h).
// Databases that an older weir made have one. Without `fastupdate = off` each search would read the list of words that
// are not in the index yet.
constexpr std::string_view kTables =
    "CREATE TABLE IF NOT EXISTS weir_words (id bytea PRIMARY KEY, kind int NOT NULL,"
    " created_at bigint NOT NULL, words tsvector NOT NULL);"
    "CREATE INDEX IF NOT EXISTS weir_words_words ON weir_words USING gin (words) WITH (fastupdate = off);"
    "CREATE TABLE IF NOT EXISTS weir_searched (origin int PRIMARY KEY, kinds text NOT NULL, low bigint NOT NULL,"
    " high bigint NOT NULL, rest bigint NOT NULL)";

constexpr PostgresStatement kOwedWords{
    "owed_words",
    "SELECT o.origin, o.serial, s.kinds, s.low, s.high, s.rest, sum(CASE WHEN s.origin IS NULL"
    " THEN greatest(o.events, 0) ELSE s.rest + least(o.serial - s.high, greatest(o.events, 0)) END) OVER ()::bigint"
    " FROM weir_origins o LEFT JOIN weir_searched s ON s.origin = o.origin"
    " WHERE s.origin IS NULL OR s.high < o.serial OR s.low > 0"
    " ORDER BY s.origin IS NULL DESC, s.high < o.serial DESC, o.origin LIMIT 1"};
constexpr PostgresStatement kBeginWords{
    "begin_words",
    "INSERT INTO weir_searched (origin, kinds, low, high, rest)"
    " SELECT origin, $1::text, serial, serial, greatest(events, 0) FROM weir_origins ON CONFLICT DO NOTHING"};
constexpr PostgresStatement kPassWords{
    "pass_words",
    "UPDATE weir_searched SET low = $5::bigint, high = $6::bigint, rest = $7::bigint"
    " WHERE origin = $1::int AND kinds = $2::text AND low = $3::bigint AND high = $4::bigint"};

// Returns the same as kNewerEvents, from the newest event on.
constexpr PostgresStatement kOlderEvents{
    "older_wordless",
    "SELECT serial, CASE WHEN kind = ANY($4::int[]) THEN record ELSE '' END FROM (SELECT serial, kind, record,"
    " sum(CASE WHEN kind = ANY($4::int[]) THEN octet_length(record) ELSE 0 END)"
    " OVER (ORDER BY serial DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM weir_events"
    " WHERE origin = $1::int AND serial > $2::bigint AND serial <= $3::bigint ORDER BY serial DESC LIMIT $6::bigint)"
    " AS e WHERE coalesce(before, 0) < $5::bigint ORDER BY serial DESC"};

Result<bool> HasTables(PostgresSession& session, Duration patience) {
  const Result<PostgresSession::Row> there =
      session.Ask("SELECT to_regclass('weir_words'), to_regclass('weir_searched')", patience);
  if (!there.ok()) return there.status();
  return there.value().size() == 2 && there.value()[0].has_value() && there.value()[1].has_value();
}

// Returns the kinds of all origins, and the version. A text that is damaged has the version 0.
Result<SearchedState> StateOf(PostgresSession& session, Duration patience) {
  const Result<PostgresSession::Row> row =
      session.Ask("SELECT string_agg(DISTINCT kinds, ';') FROM weir_searched", patience);
  if (!row.ok()) return row.status();
  SearchedState all{.version = kWordsVersion, .kinds = {}};
  std::string_view texts = row.value().empty() || !row.value()[0] ? "" : std::string_view(*row.value()[0]);
  while (!texts.empty()) {
    const size_t end = std::min(texts.find(';'), texts.size());
    const SearchedState each = ReadSearched(texts.substr(0, end)).value_or(SearchedState());
    if (each.version != kWordsVersion) all.version = each.version;
    AddSorted(each.kinds, &all.kinds);
    texts.remove_prefix(std::min(end + 1, texts.size()));
  }
  return all;
}

}  // namespace

Status MakeWordTables(PostgresSession& session, Duration patience) {
  return MakeOnce(session, std::string(kTables), HasTables, "the tables of words", patience);
}

Result<std::vector<uint16_t>> SearchedKindsOf(PostgresSession& session, Duration patience) {
  const Result<bool> there = HasTables(session, patience);
  if (!there.ok()) return there.status();
  const Result<SearchedState> state = there.value() ? StateOf(session, patience) : SearchedState();
  if (!state.ok()) return state.status();
  return state.value().version == kWordsVersion ? state.value().kinds : std::vector<uint16_t>();
}

Result<std::vector<uint16_t>> OpenSearchTables(PostgresSession& session, const std::vector<uint16_t>& kinds,
                                               Duration patience) {
  Result<SearchedState> state = StateOf(session, patience);
  if (!state.ok()) return state.status();
  if (state.value().version > kWordsVersion)
    return Status::Error("PostgreSQL: the words of the events are of a newer weir: update this program");
  if (state.value().version < kWordsVersion) {
    Status emptied = session.Ask("TRUNCATE weir_words, weir_searched", patience).status();
    return emptied.ok() ? OpenSearchTables(session, kinds, patience) : emptied;
  }
  std::vector<uint16_t> all = std::move(state.value().kinds);
  AddSorted(kinds, &all);
  const std::string text = SearchedText(all);
  Status begun = session
                     .Ask("UPDATE weir_searched s SET kinds = '" + text +
                              "', low = o.serial, high = o.serial, rest = greatest(o.events, 0)"
                              " FROM weir_origins o WHERE o.origin = s.origin AND s.kinds <> '" +
                              text + "'",
                          patience)
                     .status();
  if (!begun.ok()) return begun;
  return all;
}

std::string WarningOfKinds(const std::vector<uint16_t>& of_relay, const std::vector<uint16_t>& of_database) {
  if (of_database.empty() || of_relay == of_database) return "";
  std::vector<uint16_t> all = of_database;
  AddSorted(of_relay, &all);
  return "this relay searches " + (of_relay.empty() ? "no kinds" : "the kinds " + ToText(of_relay)) +
         ", and the database has the words of the kinds " + ToText(of_database) +
         ", from another relay or an earlier start. Relays with different kinds find different events, and the words "
         "of what one of them saves have to be added by another. Set WEIR_SEARCH_KINDS=" +
         ToText(all) +
         " at every relay on this database. If no relay is to search the other kinds any more, stop all relays, and "
         "let PostgreSQL run TRUNCATE weir_words, weir_searched; the next start then begins a new index";
}

Status BeginWords(PostgresSession& session, const SearchedEvents& searched, Duration patience) {
  session.Queue(kBeginWords, PostgresValues().Bytes(SearchedText(searched.kinds())));
  return session.Run(patience).status();
}

Result<WordPiece> BuildWords(PostgresEdit& edit, const SearchedEvents& searched, Work most) {
  const Result<PostgresRows> owed = edit.AskFirst(kOwedWords, {});
  if (!owed.ok()) return owed.status();
  const PostgresRows& row = owed.value();
  if (row.size() == 0) return WordPiece{};
  const auto origin = static_cast<int32_t>(row.Int(0, 0));
  const int64_t serial = row.Int(0, 1);
  WordPiece piece{.left = static_cast<uint64_t>(row.Int(0, 6)), .more = true};
  if (row.IsNull(0, 2)) {
    edit.Change(kBeginWords, PostgresValues().Bytes(SearchedText(searched.kinds())));
    return piece;
  }
  const std::string kinds(row.Bytes(0, 2));
  const int64_t low = row.Int(0, 3);
  const int64_t high = row.Int(0, 4);
  const std::optional<SearchedState> of_origin = ReadSearched(kinds);
  if (!of_origin || of_origin->version != kWordsVersion)
    return Status::Error("PostgreSQL: another version of weir has begun the index of words anew; start this one again");
  const SearchedEvents events(of_origin->kinds);
  PostgresArray wanted{PostgresArray::Type::kInt32};
  for (const uint16_t kind : events.kinds()) wanted.Add(int64_t{kind});
  const bool is_newer = high < serial;
  const Result<PostgresRows> found =
      edit.AskFirst(is_newer ? kNewerEvents : kOlderEvents, PostgresValues()
                                                                .Int32(origin)
                                                                .Int64(is_newer ? high : 0)
                                                                .Int64(is_newer ? serial : low)
                                                                .Array(wanted)
                                                                .Int64(kSplitAtOnce)
                                                                .Int64(kPassedAtOnce));
  if (!found.ok()) return found.status();
  WordRows words;
  Work work = 0;
  size_t passed = 0;
  int64_t bytes = 0;
  for (; passed < found.value().size() && (passed == 0 || work < most); ++passed) {
    const std::string_view record = found.value().Bytes(passed, 1);
    bytes += static_cast<int64_t>(record.size());
    work += kVisitWork;
    if (!EventView::WellFormed(record)) continue;
    words.Add(events, EventView(record));
    work += kRecordWork + events.SavingWork(EventView(record));
  }
  const bool is_all = passed == found.value().size() && passed < kPassedAtOnce && bytes < kSplitAtOnce;
  const int64_t last = passed == 0 ? 0 : found.value().Int(passed - 1, 0);
  const int64_t new_low = is_newer ? low : is_all ? 0 : last - 1;
  const int64_t rest =
      new_low == 0 ? 0 : std::max<int64_t>(1, row.Int(0, 5) - (is_newer ? 0 : static_cast<int64_t>(passed)));
  if (!words.ids.empty()) edit.Change(kAddWords, words.Values());
  edit.Change(kPassWords,
              PostgresValues()
                  .Int32(origin)
                  .Bytes(kinds)
                  .Int64(low)
                  .Int64(high)
                  .Int64(new_low)
                  .Int64(!is_newer ? high
                         : is_all  ? serial
                                   : last)
                  .Int64(rest),
              1);
  piece.events = words.ids.size();
  const int64_t done = is_newer ? (is_all ? serial : last) - high : row.Int(0, 5) - rest;
  piece.left -= std::min(piece.left, static_cast<uint64_t>(done));
  return piece;
}

}  // namespace weir
