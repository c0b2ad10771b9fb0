// A database whose tables are partitioned by time: which partitions a statement looks at, what stays when one is
// dropped, and partitions on a second server. StoreSuite also runs on partitioned tables (postgres_store_test.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "relay/nostr/filter_reader.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/postgres/partitions.h"
#include "tests/relay/store/search_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kCut = 1000;  // between the partitions first and p1

Filter FilterOf(const std::string& json) {
  const Result<Filter> parsed = ParseFilter(json);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.value();
}

class PostgresPartitionTest : public testing::Test {
 protected:
  PostgresStoreOptions Options(const std::string& origin = "here") const {
    PostgresStoreOptions options = database_.Options(origin);
    options.searched_kinds = {1};
    return options;
  }
  std::string Counts(const std::string& table) const {
    return database_.Ask(
        "SELECT coalesce(string_agg(place || ' ' || n, ', ' ORDER BY place), '') FROM (SELECT"
        " tableoid::regclass::text AS place, count(*) AS n FROM " +
        table + " GROUP BY 1) AS c");
  }
  // Returns the outcome of saving each event in one batch.
  static std::vector<SaveOutcome> Outcomes(EventStore& store, const std::vector<PlainEvent>& events) {
    std::vector<Event> all;
    for (const PlainEvent& event : events) all.push_back(ToEvent(event));
    std::vector<SaveResult> results(all.size());
    const Status saved = store.Save(all, 0, results);
    EXPECT_TRUE(saved.ok()) << saved.message();
    std::vector<SaveOutcome> outcomes;
    for (const SaveResult& result : results) outcomes.push_back(result.outcome);
    return outcomes;
  }
  static size_t Found(EventStore& store, const std::string& filter) {
    const auto query = store.Find({FilterOf(filter)}, {.default_limit = 500, .max_limit = 100'000});
    return Drain(*query).size();
  }

  PostgresDatabase database_;
};

TEST_F(PostgresPartitionTest, AWalkReadsOnlyThePartitionsThatTheAnswerNeeds) {
  PostgresStoreOptions options = Options();
  options.conninfo +=
      " options='-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0"
      " -c auto_explain.log_analyze=on -c auto_explain.log_timing=off'";
  const auto store = MustOpen(options);
  MakePartitions(database_, {kCut, 2 * kCut});
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 3000; ++i)
    events.push_back(Plain(Author(i % 30), i, i % 5 == 0 ? 7 : 1, {{"t", "tag" + std::to_string(i % 10)}}, "word"));
  SaveAll(*store, events);
  ASSERT_TRUE(store->Analyze().ok());
  ASSERT_TRUE(store->Now().ok());  // the statements that begin a connection are done
  const auto plans_of = [&](const std::string& filter, uint64_t limit) {
    const size_t before = SharedPostgres().Log().size();
    const auto query = store->Find({FilterOf(filter)}, {.default_limit = limit, .max_limit = 100'000});
    EXPECT_GT(Drain(*query, {.max_work = kTurnWork / 8}).size(), 0U) << filter;
    return SharedPostgres().Log().substr(before);
  };
  const std::string author = R"("authors":[")" + Author(3) + "\"]";
  for (const std::string& filter :
       {std::string("{}"), std::string(R"({"kinds":[7]})"), "{" + author + "}", "{" + author + R"(,"kinds":[1]})",
        std::string(R"({"#t":["tag1","tag2"]})"), std::string(R"({"#t":["tag1"],"kinds":[1]})")}) {
    // All of it: through each partition by its own index, in order.
    std::string plans = plans_of(filter, 5000);
    for (const char* const never : {"Sort", "Seq Scan on weir_", "Hash", "Bitmap", "Merge Append"})
      EXPECT_FALSE(Has(plans, never)) << never << ": " << plans;
    EXPECT_TRUE(Has(plans, "_first")) << plans;
    // The newest ten: the older partitions are not looked at.
    plans = plans_of(filter, 10);
    EXPECT_TRUE(Has(plans, "(never executed)")) << plans;
    // With `since`, they are not even opened.
    plans = plans_of(filter.substr(0, filter.size() - 1) + (filter == "{}" ? "" : ",") + R"("since":2500})", 500);
    EXPECT_TRUE(Has(plans, "Subplans Removed: 2")) << plans;
    EXPECT_FALSE(Has(plans, " on weir_events_first")) << plans;
  }
  const size_t before = SharedPostgres().Log().size();
  SaveAll(*store, {Plain(Author(1), 3001, 1, {{"t", "x"}}, "word"), Plain(Author(2), 3002, 1, {{"t", "x"}}, "word")});
  const std::string plans = SharedPostgres().Log().substr(before);
  EXPECT_TRUE(Has(plans, "Subplans Removed: 2")) << plans;
  EXPECT_FALSE(Has(plans, " on weir_events_first")) << plans;
}

// Relays hold prepared statements for the tables of before.
TEST_F(PostgresPartitionTest, RelaysGoOnWhileTheTablesArePartitioned) {
  const auto store = MustOpen(Options());
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 50; ++i) events.push_back(Plain(Author(1), i, 1, {{"t", "x"}}, "word"));
  events.push_back(Plain(Author(2), 40, 0, {}, "profile"));
  SaveAll(*store, events);
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 50U);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}).size(), 50U);
  MakePartitions(database_, {kCut});
  EXPECT_EQ(Outcomes(*store, {events[3], Plain(Author(2), kCut + 1, 0, {}, "newer"),
                              Plain(Author(1), kCut + 2, 1, {{"t", "x"}}, "word"),
                              Plain(Author(1), kCut + 3, 5, {{"e", events[0].id}})}),
            (std::vector<SaveOutcome>{SaveOutcome::kDuplicate, SaveOutcome::kSaved, SaveOutcome::kSaved,
                                      SaveOutcome::kSaved}));
  EXPECT_EQ(Counts("weir_events"), "weir_events_first 49, weir_events_p1 3");
  EXPECT_EQ(Counts("weir_tags"), "weir_tags_first 49, weir_tags_p1 2");
  EXPECT_EQ(Counts("weir_words"), "weir_words_first 49, weir_words_p1 1");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 50U);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}).size(), 50U);
  EXPECT_THROW(Cut(database_, kCut + 2, "p2"), std::runtime_error) << "an event of a later time is stored";
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), kCut + 9, 1)}), std::vector{SaveOutcome::kSaved});
}

TEST_F(PostgresPartitionTest, WhatReplacesOlderVersionsStaysWhenAPartitionIsDropped) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut, 2 * kCut});
  const PlainEvent profile = Plain(Author(1), 10, 0, {}, "profile");
  const PlainEvent article = Plain(Author(1), 11, 30023, {{"d", "x"}, {"t", "x"}}, "article");
  const PlainEvent note = Plain(Author(1), 12, 1, {{"t", "x"}}, "word");
  SaveAll(*store, {profile, article, note, Plain(Author(1), kCut + 1, 1, {{"t", "x"}}, "word")});
  EXPECT_THROW(database_.Ask("CALL weir_drop('p1')"), std::runtime_error) << "it is not the oldest";
  database_.Ask("CALL weir_drop('first')");
  EXPECT_EQ(Counts("weir_events"), "weir_events_p1 3");
  EXPECT_EQ(Counts("weir_tags"), "weir_tags_p1 3");
  EXPECT_EQ(Counts("weir_words"), "weir_words_p1 1");
  EXPECT_EQ(database_.Ask("SELECT count(*) FROM weir_addresses"), "2");
  EXPECT_EQ(MustOpen(Options("another"))->Sizes().events, 3U);
  EXPECT_EQ(Found(*store, "{}"), 3U);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}).size(), 1U);
  EXPECT_EQ(Outcomes(*store, {profile, note, Plain(Author(1), 9, 0), Plain(Author(1), 20, 0)}),
            (std::vector<SaveOutcome>{SaveOutcome::kDuplicate, SaveOutcome::kSaved, SaveOutcome::kSuperseded,
                                      SaveOutcome::kSaved}));
  database_.Ask("CALL weir_drop('p1')");
  EXPECT_EQ(Counts("weir_events"), "weir_events_p2 2");
  Cut(database_, 3 * kCut, "p3");
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), 3 * kCut, 1), Plain(Author(1), 1, 1)}),
            (std::vector<SaveOutcome>{SaveOutcome::kSaved, SaveOutcome::kSaved}));
  EXPECT_EQ(Counts("weir_events"), "weir_events_p2 3, weir_events_p3 1");
}

// An operator may drop a partition by hand, so that no event has the addresses that it had.
TEST_F(PostgresPartitionTest, AnAddressWhoseEventIsGoneIsFree) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut});
  std::vector<PlainEvent> profiles;
  for (uint64_t author = 1; author <= 4; ++author) profiles.push_back(Plain(Author(author), 10, 0, {}, "profile"));
  SaveAll(*store, profiles);
  database_.Ask("DELETE FROM weir_events; DELETE FROM weir_tags; DELETE FROM weir_words");
  EXPECT_EQ(Outcomes(*store, {profiles[0], Plain(Author(2), 9, 0), Plain(Author(3), kCut + 1, 0),
                              Plain(Author(4), kCut, 5, {{"a", "0:" + Author(4) + ":"}})}),
            std::vector(4, SaveOutcome::kSaved));
  EXPECT_EQ(Outcomes(*store, {Plain(Author(2), 8, 0), profiles[1], profiles[3]}),
            (std::vector<SaveOutcome>{SaveOutcome::kSuperseded, SaveOutcome::kSaved, SaveOutcome::kDeleted}));
  EXPECT_EQ(Found(*store, R"({"kinds":[0]})"), 3U);
}

TEST_F(PostgresPartitionTest, OnlyAnEventWithoutAPartitionIsRefused) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut, 2 * kCut});
  for (const char* const table : {"weir_events", "weir_tags", "weir_words"})
    database_.Ask(std::string("ALTER TABLE ") + table + " DETACH PARTITION " + table + "_p1");
  std::vector<PlainEvent> events;
  std::vector<SaveOutcome> expected;
  for (uint64_t i = 0; i < 40; ++i) {
    const bool has_place = i % 13 != 5;
    events.push_back(Plain(Author(i), has_place ? 10 + 2000 * (i % 2) : kCut + i, 1, {}, "word"));
    expected.push_back(has_place ? SaveOutcome::kSaved : SaveOutcome::kNoPlace);
  }
  EXPECT_EQ(Outcomes(*store, events), expected);
  EXPECT_EQ(Found(*store, "{}"), 37U);
  EXPECT_TRUE(store->Stuck().ok());
}

// Such a database may be shared with older programs, so it keeps its keys.
TEST_F(PostgresPartitionTest, ADatabaseOfAnOlderWeirWorksOn) {
  MustOpen(Options());
  database_.Ask(
      "DROP INDEX weir_events_serial; CREATE UNIQUE INDEX weir_events_serial ON weir_events (origin ASC, serial ASC);"
      "ALTER TABLE weir_words ADD FOREIGN KEY (id) REFERENCES weir_events (id) ON DELETE CASCADE");
  const auto store = MustOpen(Options());
  const PlainEvent note = Plain(Author(1), 10, 1, {{"t", "x"}}, "word");
  SaveAll(*store, {note, Plain(Author(1), 11, 1, {{"t", "x"}}, "word"), Plain(Author(1), 12, 5, {{"e", note.id}})});
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}).size(), 1U);
  MakePartitions(database_, {kCut});
  const PlainEvent later = Plain(Author(1), kCut + 1, 1, {{"t", "x"}}, "word");
  SaveAll(*store, {later, Plain(Author(2), kCut + 1, 1, {}, "word")});
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}).size(), 3U);
  SaveAll(*store, {Plain(Author(1), kCut + 2, 5, {{"e", later.id}})});
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}).size(), 2U);
  EXPECT_EQ(Counts("weir_words"), "weir_words_first 1, weir_words_p1 1");
}

// Citus distributes a table by one column, which each of its unique keys must contain. A reference table, which each
// server has, may have any keys.
TEST_F(PostgresPartitionTest, EachUniqueKeyHasTheColumnByWhichCitusDistributesItsTable) {
  MustOpen(Options());
  EXPECT_EQ(
      database_.Ask("SELECT string_agg(c.relname || ' ' || i.indexrelid::regclass, ', ')"
                    " FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid LEFT JOIN (VALUES ('weir_events', 'id'),"
                    " ('weir_tags', 'id'), ('weir_words', 'id'), ('weir_deleted', 'id'), ('weir_addresses', 'address'),"
                    " ('weir_deleted_addresses', 'address'), ('weir_vanished', 'author')) AS d (relname, name)"
                    " ON d.relname = c.relname WHERE c.relname LIKE 'weir%' AND i.indisunique"
                    " AND c.relname NOT IN ('weir_meta', 'weir_origins', 'weir_memos', 'weir_searched')"
                    " AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = d.name"
                    " AND a.attnum = ANY(i.indkey))"),
      "");
  EXPECT_EQ(database_.Ask("SELECT count(*) FROM pg_constraint WHERE contype = 'f'"), "0");
}

// Neither order of adding words and removing their event leaves words.
class WordsRaceTest : public PostgresPartitionTest {
 protected:
  std::string Waiting() const {
    return database_.Ask(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'");
  }
  const PlainEvent note_ = Plain(Author(1), 10, 1, {}, "word");
};

TEST_F(WordsRaceTest, ARemovalWaitsForTheWordsOfItsEvent) {
  const auto other = MustOpen(database_.Options("does not search"));
  SaveAll(*other, {note_});
  PostgresClient build(database_.conninfo());  // It does what kAddWords does.
  build.Ask("BEGIN");
  build.Ask("INSERT INTO weir_words SELECT id, kind, created_at, 'a:1' FROM weir_events FOR KEY SHARE");
  std::thread removes([&] { SaveAll(*other, {Plain(Author(1), 11, 5, {{"e", note_.id}})}); });
  EXPECT_TRUE(Eventually([&] { return Waiting() == "1"; }));
  build.Ask("COMMIT");
  removes.join();
  EXPECT_EQ(Counts("weir_words"), "");
}

TEST_F(WordsRaceTest, WordsWaitForTheRemovalOfTheirEvent) {
  SaveAll(*MustOpen(database_.Options("does not search")), {note_});
  const auto searching = MustOpen(Options());
  PostgresClient removal(database_.conninfo());
  removal.Ask("BEGIN");
  removal.Ask("DELETE FROM weir_events");
  removal.Ask("DELETE FROM weir_words");
  std::thread builds([&] { BuildAll(*searching); });
  EXPECT_TRUE(Eventually([&] { return Waiting() == "1"; }));
  removal.Ask("COMMIT");
  builds.join();
  EXPECT_EQ(Counts("weir_words"), "");
}

// The oldest partition lies on a second server.
class SecondServerTest : public PostgresPartitionTest {
 protected:
  void Move() {
    MustOpen(there_.Options());
    for (const char* const table : {"weir_events", "weir_tags", "weir_words"})
      there_.Ask(std::string("ALTER TABLE ") + table + " RENAME TO " + table + "_first");
    database_.Ask("CREATE EXTENSION postgres_fdw");
    database_.Ask("CREATE SERVER db4 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '" +
                  std::to_string(server_.port()) + "', dbname '" + there_.Ask("SELECT current_database()") +
                  "', use_remote_estimate 'true')");
    database_.Ask("CREATE USER MAPPING FOR weir SERVER db4 OPTIONS (user 'weir')");
    EXPECT_THROW(database_.Ask("CALL weir_move('first', 'db4')"), std::runtime_error) << "the copy lacks rows";
    for (const char* const table : {"weir_events", "weir_tags", "weir_words"}) {
      const std::string rows =
          database_.Ask(std::string("SELECT coalesce(string_agg(r::text, E'\\n'), '') FROM ") + table + "_first AS r");
      std::string quoted = rows;
      for (size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 2) quoted.insert(at, "'");
      there_.Ask(std::string("INSERT INTO ") + table + "_first SELECT (r::" + table +
                 "_first).* FROM regexp_split_to_table('" + quoted + "', E'\\n') AS r WHERE r <> ''");
    }
    database_.Ask("CALL weir_move('first', 'db4')");
  }

  PostgresProcess server_{{"fsync=off"}};
  PostgresDatabase there_{server_};
};

TEST_F(SecondServerTest, OldEventsAreReadSavedAndRemovedThere) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut});
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 30; ++i)
    events.push_back(Plain(Author(1), i * 100, 1, {{"t", "x"}}, "word number" + std::to_string(i)));
  events.push_back(Plain(Author(2), 10, 0, {}, "profile"));
  SaveAll(*store, events);
  Move();
  EXPECT_EQ(there_.Ask("SELECT count(*) FROM weir_events_first"), "11");
  for (const std::string& filter :
       {std::string("{}"), std::string(R"({"#t":["x"]})"), R"({"authors":[")" + Author(1) + "\"]}"})
    EXPECT_EQ(Found(*store, filter), filter == "{}" ? 31U : 30U) << filter;
  EXPECT_EQ(Found(*store, R"({"ids":[")" + events[2].id + R"(",")" + events[20].id + "\"]}"), 2U);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("number3")}), std::vector<std::string>{"word number3"});
  const PlainEvent late = Plain(Author(3), 20, 1, {{"t", "x"}}, "word late");
  EXPECT_EQ(
      Outcomes(*store, {events[1], late, Plain(Author(2), 3000, 0), Plain(Author(1), 3001, 5, {{"e", events[2].id}})}),
      (std::vector<SaveOutcome>{SaveOutcome::kDuplicate, SaveOutcome::kSaved, SaveOutcome::kSaved,
                                SaveOutcome::kSaved}));
  EXPECT_EQ(there_.Ask("SELECT count(*) FROM weir_events_first"), "10");
  EXPECT_EQ(there_.Ask("SELECT count(*) FROM weir_tags_first"), "10");
  EXPECT_EQ(there_.Ask("SELECT count(*) FROM weir_words_first"), "10");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 30U);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("late")}), std::vector<std::string>{"word late"});
  database_.Ask("CALL weir_drop('first')");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 20U);
}

// A connection asks the second server when it plans a statement, and when a plan looks at the partition there.
TEST_F(SecondServerTest, WithoutItKnownStatementsGoOnElsewhereAndAllDoOnceItsPartitionIsDetached) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut});
  SaveAll(*store, {Plain(Author(1), 10, 1, {{"t", "x"}}, "word"), Plain(Author(1), 2000, 1, {{"t", "x"}}, "word")});
  Move();
  const std::string newer = R"({"#t":["x"],"since":1000})";
  const auto save = [&](uint64_t time) { return Outcomes(*store, {Plain(Author(1), time, 1, {{"t", "x"}}, "word")}); };
  EXPECT_EQ(save(2001), std::vector{SaveOutcome::kSaved});
  EXPECT_EQ(Found(*store, newer), 2U);
  const Event event = ToEvent(Plain(Author(1), 2001, 1, {{"t", "x"}}, "word"));
  const EventView view = event.view();
  EXPECT_EQ(store->StoredEvents({&view, 1}).value(), std::vector{true});
  EXPECT_EQ(store->StoredSigned({&view, 1}).value().size(), 1U);
  server_.Kill();
  EXPECT_EQ(store->StoredEvents({&view, 1}).value(), std::vector{true});
  EXPECT_TRUE(store->StoredSigned({&view, 1}).ok());
  EXPECT_EQ(save(2002), std::vector{SaveOutcome::kSaved});
  EXPECT_EQ(Found(*store, newer), 3U);
  const auto query = store->Find({FilterOf(R"({"#t":["x"]})")}, {});
  Result<Progress> progress = query->Next({}, [](EventView) {});
  EXPECT_TRUE(!progress.ok() && Has(progress.status().message(), "could not connect to server \"db4\""))
      << progress.status().message();
  for (const char* const table : {"weir_events", "weir_tags", "weir_words"})
    database_.Ask(std::string("ALTER TABLE ") + table + " DETACH PARTITION " + table + "_first");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 3U);
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), 20, 1), Plain(Author(1), 2003, 1)}),
            (std::vector<SaveOutcome>{SaveOutcome::kNoPlace, SaveOutcome::kSaved}));
  server_.Restart();
  for (const char* const table : {"weir_events", "weir_tags", "weir_words"})
    database_.Ask(std::string("ALTER TABLE ") + table + " ATTACH PARTITION " + table +
                  "_first FOR VALUES FROM (MINVALUE) TO (1000)");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 4U);
}

}  // namespace
}  // namespace weir
