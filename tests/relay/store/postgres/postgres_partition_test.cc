// A database whose tables are partitioned by time: which partitions a statement looks at, and what stays when one is
// dropped. StoreSuite also runs on partitioned tables (postgres_store_test.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/postgres/partition_fixture.h"

namespace weir {
namespace {

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

// An interrupted call leaves its constraints on the newest partition, which then takes no later events.
TEST_F(PostgresPartitionTest, ACutThatWasInterruptedIsRepeated) {
  const auto store = MustOpen(Options());
  database_.Ask("GRANT SELECT ON weir_events TO PUBLIC");
  MakePartitions(database_, {kCut});
  EXPECT_TRUE(Has(database_.Ask("SELECT relacl FROM pg_class WHERE relname = 'weir_events'"), "=r/weir"));
  for (const char* const table : {"weir_events", "weir_tags", "weir_words"})
    database_.Ask(std::string("ALTER TABLE ") + table + "_p1 ADD CONSTRAINT until CHECK (created_at < 2000)");
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), 2001, 1)}), std::vector{SaveOutcome::kNoPlace});
  Cut(database_, 2000, "p2");
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), 2001, 1)}), std::vector{SaveOutcome::kSaved});
}

TEST_F(PostgresPartitionTest, ACutThatCannotSucceedChangesNothing) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut});
  SaveAll(*store, {Plain(Author(1), 2001, 1)});
  const auto error_of = [&](uint64_t second, const std::string& name) -> std::string {
    try {
      Cut(database_, second, name);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(Has(error_of(3000, "p 2"), "the name p 2 has other characters"));
  EXPECT_TRUE(Has(error_of(3000, "first"), "there is a table weir_tags_first"));
  EXPECT_TRUE(
      Has(error_of(2000, "p2"),
          "1 events of 1970-01-01 00:33:20 UTC or later are stored, the newest of 1970-01-01 00:33:21 UTC: choose "
          "a later time, or remove them: weir delete --filter '{\"since\":2000}'"))
      << error_of(2000, "p2");
  EXPECT_THROW(database_.Ask("CALL weir_move('p1', 'db4')"), std::runtime_error) << "it is the newest";
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), 3001, 1)}), std::vector{SaveOutcome::kSaved});
}

// REQs lock the tables in several orders, and none may become the victim of a deadlock.
TEST_F(PostgresPartitionTest, ReadsGoOnWhileTheTablesAreCutAndAPartitionIsDropped) {
  const auto store = MustOpen(Options());
  AddPartitionProcedures(database_);
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 50; ++i) events.push_back(Plain(Author(1), i, 1, {{"t", "x"}}, "word"));
  SaveAll(*store, events);
  std::atomic<bool> is_over = false;
  std::vector<std::thread> readers;
  for (const bool searches : {false, false, true})
    readers.emplace_back([&, searches] {
      const std::vector<Filter> filters =
          searches ? std::vector{SearchFor("word")}
                   : std::vector{FilterOf(R"({"authors":[")" + Author(1) + "\"]}"), FilterOf(R"({"#t":["x"]})")};
      while (!is_over) {
        const auto query = store->Find(filters, {.default_limit = 500, .max_limit = 500});
        for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
          const Result<Progress> next = query->Next({}, [](EventView) {});
          EXPECT_TRUE(next.ok()) << next.status().message();
          progress = next.ok() ? next.value() : Progress::kDone;
        }
      }
    });
  const auto call = [&](const std::string& sql) {
    return Eventually([&] {
      try {
        database_.Ask("CALL " + sql);
        return true;
      } catch (const std::runtime_error& error) {
        EXPECT_TRUE(Has(error.what(), "lock timeout")) << error.what();
        return false;
      }
    });
  };
  for (int i = 1; i <= 5; ++i)
    EXPECT_TRUE(call("weir_cut(to_timestamp(" + std::to_string(1000 * i) + "), 'p" + std::to_string(i) + "')"));
  for (const char* const oldest : {"first", "p1", "p2"}) EXPECT_TRUE(call("weir_drop('" + std::string(oldest) + "')"));
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(Found(*store, "{}"), 0U);
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

}  // namespace
}  // namespace weir
