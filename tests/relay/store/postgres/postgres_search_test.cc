// Search (NIP-50) on PostgreSQL: the suite of both stores, the build of the words beside other relays, and the bound of
// a statement.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "relay/store/postgres/postgres_search_query.h"
#include "relay/store/postgres/postgres_words.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/postgres/postgres_fixture.h"
#include "tests/relay/store/search_fixture.h"

namespace weir {
namespace {

std::unique_ptr<PostgresStore> OpenSearching(const PostgresDatabase& database, const std::vector<uint16_t>& kinds,
                                             const std::string& origin = "here") {
  PostgresStoreOptions options = database.Options(origin);
  options.searched_kinds = kinds;
  return MustOpen(options);
}

std::string TextOf(const PostgresDatabase& database, const std::string& sql) {
  return database.Ask("SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM (" + sql + ") AS l (line)");
}

// All words of the database, as text.
std::string WordsIn(const PostgresDatabase& database) {
  return TextOf(database,
                "SELECT encode(id, 'hex') || ' ' || kind || ' ' || created_at || ' ' || words::text FROM weir_words");
}

// The words that the database should have for the events of this store.
std::string WordsFor(const PostgresDatabase& database, const EventStore& store, const std::vector<uint16_t>& kinds) {
  const SearchedEvents searched(kinds);
  std::string rows;
  EXPECT_TRUE(store
                  .ScanAll({}, store.Now().value(),
                           [&](Serial, EventView event) {
                             if (!searched.Searches(event.kind())) return true;
                             rows += (rows.empty() ? "('" : ", ('") + ToHex(event.id()) + " " +
                                     std::to_string(event.kind()) + " " + std::to_string(event.created_at()) + " ', '" +
                                     WordsText(searched, event) + "'::tsvector)";
                             return true;
                           })
                  .ok());
  if (rows.empty()) return "";
  return TextOf(database, "SELECT head || words::text FROM (VALUES " + rows + ") AS v (head, words)");
}

class PostgresSearchPlace final : public SearchPlace {
 public:
  std::unique_ptr<EventStore> Open(bool searches) override {
    return OpenSearching(database_, searches ? kSearchedKinds : std::vector<uint16_t>{});
  }
  // Events whose words are to be built may have none.
  std::string Difference(EventStore& store) override {
    const std::string found = WordsIn(database_);
    const std::string wanted = WordsFor(database_, store, kSearchedKinds);
    if (store.Sizes().unsearched == 0U) return found == wanted ? "" : found + "\ninstead of\n" + wanted;
    for (size_t at = 0; at < found.size();) {
      const size_t end = std::min(found.find('\n', at), found.size());
      if (wanted.find(found.substr(at, end - at)) == std::string::npos) return found.substr(at, end - at);
      at = end + 1;
    }
    return "";
  }
  bool is_by_id() const override { return true; }
  Work most_step() const override { return 3 * kTurnWork; }  // a statement

 private:
  PostgresDatabase database_;
};
INSTANTIATE_TEST_SUITE_P(Postgres, SearchSuite,
                         testing::Values(SearchKind{"postgres",
                                                    [] { return std::make_unique<PostgresSearchPlace>(); }}),
                         [](const auto& test) { return test.param.name; });

class PostgresSearchTest : public testing::Test {
 protected:
  PostgresDatabase database_;
};

TEST_F(PostgresSearchTest, ARelayWithoutTheSettingLosesNoWords) {
  const auto searching = OpenSearching(database_, {1}, "searches");
  const auto other = MustOpen(database_.Options("does not"));
  SaveAll(*searching, {Plain(Author(1), 1, 1, {}, "word one")});
  const PlainEvent two = Plain(Author(1), 2, 1, {}, "word two");
  SaveAll(*other, {two});
  BuildAll(*searching);
  SaveAll(*other, {Plain(Author(1), 3, 1, {}, "word three")});
  bool complete = true;
  EXPECT_EQ(ContentsOf(*searching, {SearchFor("word")}, &complete), (std::vector<std::string>{"word two", "word one"}));
  EXPECT_FALSE(complete);
  BuildAll(*searching);
  EXPECT_EQ(ContentsOf(*searching, {SearchFor("word")}, &complete),
            (std::vector<std::string>{"word three", "word two", "word one"}));
  EXPECT_TRUE(complete);
  SaveAll(*other, {Plain(Author(1), 9, 5, {{"e", two.id}})});
  EXPECT_EQ(ContentsOf(*searching, {SearchFor("word")}), (std::vector<std::string>{"word three", "word one"}));
  EXPECT_EQ(WordsIn(database_), WordsFor(database_, *searching, {1}));
}

TEST_F(PostgresSearchTest, SaysThatWordsAreMissingUntilTheLastPieceOfALaterImport) {
  const auto searching = OpenSearching(database_, {1}, "searches");
  const auto importing = MustOpen(database_.Options("imports"));
  const auto import = [&](uint64_t first) {
    std::vector<PlainEvent> events;
    for (uint64_t n = 0; n < 600; ++n) events.push_back(Plain(Author(1), first + n, 1, {}, "word"));
    SaveAll(*importing, events);
  };
  import(1);
  BuildAll(*searching);
  import(1000);
  ASSERT_TRUE(searching->BuildSearch(1).ok());
  EXPECT_EQ(searching->Sizes().unsearched, 599U);
  ASSERT_TRUE(searching->BuildSearch(1'000'000'000).ok());
  EXPECT_GT(searching->Sizes().unsearched, 0U);
  BuildAll(*searching);
  EXPECT_EQ(searching->Sizes().unsearched, 0U);
}

// Counts as a COUNT does. Calls `between` after the first slice, which ends before anything is counted.
size_t CountOf(
    const EventStore& store, const Filter& filter, bool* complete, const std::function<void()>& between = [] {}) {
  const auto query =
      store.Find({filter}, {.now_seconds = kSearchNow, .default_limit = kAllEvents, .max_limit = kAllEvents});
  size_t counted = 0;
  EXPECT_TRUE(query->Next({.max_work = 1}, [&](EventView) { ++counted; }).ok());
  between();
  counted += Drain(*query).size();
  *complete = query->complete();
  return counted;
}

TEST_F(PostgresSearchTest, ACountHasTheEventsThatAnotherRelaySavesWithoutWords) {
  const auto searching = OpenSearching(database_, {1}, "searches");
  const auto other = MustOpen(database_.Options("does not"));
  bool complete = false;
  const auto save = [&](EventStore& store, uint64_t first) {
    std::vector<PlainEvent> events;
    for (uint64_t n = 0; n < 300; ++n)
      events.push_back(Plain(Author(1), first + n, n % 3 == 0 ? 7 : 1, {}, n % 3 == 1 ? "word" : "other words"));
    SaveAll(store, events);
  };
  save(*other, 1);
  EXPECT_EQ(CountOf(*searching, SearchFor("word"), &complete), 100U);
  EXPECT_TRUE(complete);
  BuildAll(*searching);
  save(*other, 1000);
  save(*searching, 2000);
  EXPECT_EQ(CountOf(*searching, SearchFor("word"), &complete), 300U);
  EXPECT_TRUE(complete);
  Filter filter = SearchFor("word");
  filter.until = 1150;
  EXPECT_EQ(CountOf(*searching, filter, &complete), 150U);
  EXPECT_TRUE(complete);
}

TEST_F(PostgresSearchTest, ACountHasAnEventOnceThatGetsItsWordsMeanwhile) {
  const auto searching = OpenSearching(database_, {1}, "searches");
  const auto other = MustOpen(database_.Options("does not"));
  SaveAll(*searching, {Plain(Author(1), 1, 1, {}, "word one")});
  SaveAll(*other, {Plain(Author(1), 2, 1, {}, "word two"), Plain(Author(1), 3, 1, {}, "word three")});
  bool complete = false;
  EXPECT_EQ(CountOf(*searching, SearchFor("word"), &complete,
                    [&] {
                      BuildAll(*searching);
                      SaveAll(*other, {Plain(Author(1), 4, 1, {}, "word four")});
                    }),
            3U);
  EXPECT_TRUE(complete);
}

TEST_F(PostgresSearchTest, ACountWithKindsThatAnotherRelayDoesNotKnowIsRight) {
  const auto notes = OpenSearching(database_, {1}, "notes");
  const auto both = OpenSearching(database_, {1, 42}, "both");
  BuildAll(*both);
  SaveAll(*notes, {Plain(Author(1), 1, 1, {}, "word one"), Plain(Author(1), 2, 42, {}, "word two")});
  SaveAll(*both, {Plain(Author(1), 3, 1, {}, "word three"), Plain(Author(1), 4, 42, {}, "word four")});
  bool complete = false;
  EXPECT_EQ(CountOf(*both, SearchFor("word"), &complete), 4U);
  EXPECT_TRUE(complete);
}

TEST_F(PostgresSearchTest, ACountSaysThatItLacksEventsIfTooManyHaveNoWords) {
  const auto searching = OpenSearching(database_, {1}, "searches");
  std::vector<PlainEvent> events;
  const std::string text(kMostTextBytes, 'x');
  for (uint64_t n = 0; n <= kMostWordless / (kMostTextBytes * kSplitByteWork); ++n)
    events.push_back(Plain(Author(1), n, 1, {}, text));
  events.push_back(Plain(Author(1), 1, 1, {}, "word"));
  SaveAll(*MustOpen(database_.Options("does not")), events);
  bool complete = true;
  EXPECT_EQ(CountOf(*searching, SearchFor("word"), &complete), 0U);
  EXPECT_FALSE(complete);
}

// A removal locks the rows of its events in the order of their ids.
TEST_F(PostgresSearchTest, TheBuildLocksEventsInTheOrderOfTheirIds) {
  const auto searching = OpenSearching(database_, {1}, "searches");
  const auto other = MustOpen(database_.Options("does not"));
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < 8; ++n) events.push_back(Plain(Author(1), 1 + n, 1, {}, "word"));
  std::ranges::sort(events, std::greater(), &PlainEvent::id);
  for (const PlainEvent& event : events) SaveAll(*other, {event});
  PostgresClient removal(database_.conninfo());
  removal.Ask("BEGIN");
  removal.Ask("SELECT 1 FROM weir_events WHERE id = '\\x" + events.back().id + "' FOR UPDATE");
  std::thread build([&] { BuildAll(*searching); });
  EXPECT_TRUE(Eventually([&] {
    return database_.Ask(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
               " AND datname = current_database()") != "0";
  }));
  EXPECT_EQ(database_.Ask("SELECT count(*) FROM (SELECT 1 FROM weir_events FOR UPDATE SKIP LOCKED) AS e"), "7");
  removal.Ask("ROLLBACK");
  build.join();
  EXPECT_EQ(WordsIn(database_), WordsFor(database_, *searching, {1}));
}

TEST_F(PostgresSearchTest, RelaysWithOtherKindsShareTheWords) {
  const std::vector<PlainEvent> events{Plain(Author(1), 1, 1, {}, "word one"), Plain(Author(1), 2, 42, {}, "word two")};
  const auto notes = OpenSearching(database_, {1}, "notes");
  SaveAll(*notes, events);
  BuildAll(*notes);
  const auto others = OpenSearching(database_, {42}, "others");
  EXPECT_EQ(others->Sizes().unsearched, 2U);
  EXPECT_EQ(ContentsOf(*notes, {SearchFor("word")}), std::vector<std::string>{"word one"});
  SaveAll(*notes, {Plain(Author(1), 3, 42, {}, "word three")});  // it does not know that kind 42 is searched now
  BuildAll(*notes);
  EXPECT_EQ(others->BuildSearch(1).value().more, false);
  bool complete = false;
  EXPECT_EQ(ContentsOf(*others, {SearchFor("word")}, &complete),
            (std::vector<std::string>{"word three", "word two", "word one"}));
  EXPECT_TRUE(complete);
  EXPECT_EQ(WordsIn(database_), WordsFor(database_, *notes, {1, 42}));
}

// Opens a store as a relay does, and returns what it logs.
std::string LogOfOpening(const PostgresDatabase& database, const std::vector<uint16_t>& kinds,
                         bool is_history = false) {
  PostgresStoreOptions options = database.Options("opened");
  options.searched_kinds = kinds;
  options.is_history = is_history;
  return weir::LogOfOpening(options);
}

TEST_F(PostgresSearchTest, ARelayWarnsOfOtherKindsThanTheDatabaseHas) {
  EXPECT_EQ(LogOfOpening(database_, {}), "");
  EXPECT_EQ(LogOfOpening(database_, {1}), "");
  EXPECT_EQ(LogOfOpening(database_, {1}), "");
  EXPECT_TRUE(Has(LogOfOpening(database_, {42}), "WEIR_SEARCH_KINDS=1,42 at every relay"));
  EXPECT_EQ(LogOfOpening(database_, {1, 42}), "");
  EXPECT_TRUE(Has(LogOfOpening(database_, {1}), "has the words of the kinds 1,42"));
  EXPECT_TRUE(Has(LogOfOpening(database_, {}), "this relay searches no kinds"));
  EXPECT_EQ(LogOfOpening(database_, {}, true), "") << "an import has no setting";
}

TEST_F(PostgresSearchTest, WordsOfANewerWeirAreAnErrorAndThoseOfAnOlderOneAreMadeAnew) {
  SaveAll(*OpenSearching(database_, {1}), {Plain(Author(1), 1, 1, {}, "word one")});
  BuildAll(*OpenSearching(database_, {1}));
  database_.Ask("UPDATE weir_searched SET kinds = '200:1'");
  PostgresStoreOptions options = database_.Options();
  options.searched_kinds = {1};
  EXPECT_NE(PostgresStore::Open(options).status().message().find("newer weir"), std::string::npos);
  database_.Ask("UPDATE weir_searched SET kinds = '0:1'");
  const auto store = OpenSearching(database_, {1});
  EXPECT_EQ(WordsIn(database_), "");
  BuildAll(*store);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), std::vector<std::string>{"word one"});
}

TEST_F(PostgresSearchTest, TheBuildTakesTheNewestEventsFirst) {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 600; ++i)
    events.push_back(Plain(Author(1), i, i % 2 == 0 ? 1 : 7, {}, "word " + std::to_string(i)));
  SaveAll(*MustOpen(database_.Options()), events);
  const auto store = OpenSearching(database_, {1});
  ASSERT_TRUE(store->BuildSearch(kTurnWork).ok());
  const std::vector<std::string> found = ContentsOf(*store, {SearchFor("word")});
  ASSERT_FALSE(found.empty());
  EXPECT_LT(found.size(), 300U);
  EXPECT_EQ(found.front(), "word 598");
  EXPECT_EQ(found.back(), "word " + std::to_string(600 - 2 * found.size()));
  BuildAll(*store);
  EXPECT_EQ(WordsIn(database_), WordsFor(database_, *store, {1}));
}

// Builds in a process of its own, which is killed after some pieces. Returns false if it has built everything. It may
// be forked, because neither this process nor the store has threads.
bool BuildAndKill(const PostgresDatabase& database, uint64_t pieces) {
  std::array<int, 2> line{};
  EXPECT_EQ(pipe(line.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = OpenSearching(database, {1});
    while (true) {
      const Result<OwedPiece> piece = store->BuildSearch(kTurnWork / 4);
      if (!piece.ok()) _exit(4);
      if (!piece.value().more) _exit(0);
      if (write(line[1], ".", 1) != 1) _exit(3);
    }
  }
  close(line[1]);
  for (char dot = 0; pieces > 0 && read(line[0], &dot, 1) == 1; --pieces) {
  }
  if (pieces == 0) kill(child, SIGKILL);
  close(line[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
  return WIFSIGNALED(status);
}

TEST_F(PostgresSearchTest, ABuildThatIsKilledAgainAndAgainEndsWithTheSameWords) {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 1500; ++i)
    events.push_back(Plain(Author(1), i, i % 5 == 0 ? 7 : 1, {}, "word number " + std::to_string(i)));
  SaveAll(*MustOpen(database_.Options("other")), events);
  std::mt19937 random(std::random_device{}());
  int kills = 0;
  while (BuildAndKill(database_, random() % 30)) ++kills;
  EXPECT_GT(kills, 0);
  const auto store = OpenSearching(database_, {1});
  EXPECT_EQ(store->Sizes().unsearched, 0U);
  EXPECT_EQ(store->BuildSearch(1).value().more, false);
  EXPECT_EQ(WordsIn(database_), WordsFor(database_, *store, {1}));
}

// Says how the server finds what a search asks for, also with a few events and without statistics.
TEST_F(PostgresSearchTest, EveryStatementUsesTheIndexOfWords) {
  PostgresDatabase database;
  PostgresStoreOptions options = database.Options();
  options.conninfo +=
      " options='-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0"
      " -c auto_explain.log_analyze=on -c auto_explain.log_timing=off'";
  options.searched_kinds = {1};
  const auto store = MustOpen(options);
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 50; ++i) events.push_back(Plain(Author(1), i, 1, {}, "word " + std::to_string(i)));
  SaveAll(*store, events);
  const size_t before = SharedPostgres().Log().size();
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word 17")}).size(), 1U);
  const std::string plans = SharedPostgres().Log().substr(before);
  EXPECT_NE(plans.find("Bitmap Index Scan on weir_words_words"), std::string::npos) << plans;
  for (const char* never : {"Seq Scan on weir_words", "Seq Scan on weir_events", "using weir_words_pkey"})
    EXPECT_EQ(plans.find(never), std::string::npos) << never << ": " << plans;
}

// Returns the most entries of the index of words that a statement has looked at, by the server's log.
size_t MostLookedAt(const std::string& plans) {
  static const std::regex kScan("Bitmap Index Scan on weir_words_words[^\n]*\\(actual rows=([0-9]+)");
  size_t most = 0;
  for (std::sregex_iterator scan(plans.begin(), plans.end(), kScan), end; scan != end; ++scan)
    most = std::max<size_t>(most, std::stoul((*scan)[1].str()));
  return most;
}

// The newest event is the first one of a span of every level.
TEST_F(PostgresSearchTest, AStatementIsBoundedAlsoWhenSpansOfAllLevelsHaveJustBegun) {
  PostgresStoreOptions options = database_.Options();
  options.conninfo +=
      " options='-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0"
      " -c auto_explain.log_analyze=on -c auto_explain.log_timing=off'";
  options.searched_kinds = {1};
  const auto store = MustOpen(options);
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 4000; ++i)
    events.push_back(Plain(Author(1), (uint64_t{7} << 28) - 60 * i, 1, {}, "word " + std::to_string(i)));
  SaveAll(*store, events);
  const size_t before = SharedPostgres().Log().size();
  const auto query = store->Find({SearchFor("word")}, {});
  EXPECT_EQ(Drain(*query).size(), 500U);
  const size_t most = MostLookedAt(SharedPostgres().Log().substr(before));
  EXPECT_GT(most, kMostCountedEvents);
  EXPECT_LT(most, 8 * kMostCountedEvents);
}

// The walk goes through spans of all lengths, and each level is the longest one for some words.
TEST_F(PostgresSearchTest, FindsAllMatchesWhateverTimesTheyHave) {
  std::vector<PlainEvent> events;
  std::map<std::string, size_t> wanted;
  uint64_t time = uint64_t{1} << 40;
  for (uint64_t i = 0; i < 1500; ++i) {
    const std::string rare = "rare" + std::to_string(i % 100);
    events.push_back(Plain(Author(i % 3), time, 1, {}, "common " + rare));
    ++wanted[rare];
    time -= i < 100 ? uint64_t{1} << 33 : i < 600 ? i * i : i % 7;
  }
  const auto store = OpenSearching(database_, {1});
  SaveAll(*store, events);
  for (const auto& [rare, count] : wanted) {
    EXPECT_EQ(ContentsOf(*store, {SearchFor(rare + " common")}).size(), count) << rare;
    Filter filter = SearchFor(rare);
    filter.authors = std::vector<PublicKey>{ToBytes(Author(1))};
    EXPECT_EQ(ContentsOf(*store, {filter}).size(), count / 3) << rare;
  }
}

}  // namespace
}  // namespace weir
