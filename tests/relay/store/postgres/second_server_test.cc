// Partitions of which one lies on a second server.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/fixtures/has_text.h"
#include "tests/relay/store/postgres/partition_fixture.h"

namespace weir {
namespace {

// The second server has the oldest partition.
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

// Pages of a table on another server cannot be read alone.
TEST_F(SecondServerTest, TheEventsAreNoSampleBesideAPartitionThere) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut});
  SaveAll(*store, {Plain(Author(1), 10, 1), Plain(Author(1), 2000, 1)});
  const Result<Moment> now = store->Now();
  EXPECT_EQ(store->Groups(now.value()).value().size(), 2U);
  Move();
  EXPECT_EQ(store->Groups(now.value()).value().size(), 0U);
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
  database_.Ask("CALL weir_detach('first')");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 3U);
  EXPECT_EQ(Outcomes(*store, {Plain(Author(1), 20, 1), Plain(Author(1), 2003, 1)}),
            (std::vector<SaveOutcome>{SaveOutcome::kNoPlace, SaveOutcome::kSaved}));
  server_.Restart();
  database_.Ask("CALL weir_attach('first', 'MINVALUE', '1000')");
  EXPECT_EQ(Found(*store, R"({"#t":["x"]})"), 4U);
}

TEST_F(SecondServerTest, WhatWasDeletedMeanwhileIsGoneWhenThePartitionIsAttachedAgain) {
  const auto store = MustOpen(Options());
  MakePartitions(database_, {kCut});
  const PlainEvent note = Plain(Author(1), 10, 1, {{"t", "x"}}, "word deleted");
  const PlainEvent wrap = Plain(Author(9), 11, 1059, {{"p", Author(2)}});
  SaveAll(*store, {note, wrap, Plain(Author(1), 12, 1, {{"t", "x"}}, "word stays"), Plain(Author(2), 13, 1059),
                   Plain(Author(3), 14, 0, {}, "replaced"), Plain(Author(4), 15, 0, {}, "deleted"),
                   Plain(Author(5), 16, 0, {}, "stays"), Plain(Author(6), 17, 1, {{"t", "x"}}, "word vanishes")});
  Move();
  database_.Ask("CALL weir_detach('first')");
  EXPECT_EQ(Found(*store, "{}"), 0U);
  SaveAll(*store, {Plain(Author(1), 2000, 5, {{"e", note.id}}), Plain(Author(2), 2001, 5, {{"e", wrap.id}}),
                   Plain(Author(7), 2002, 5, {{"e", note.id}}), Plain(Author(3), 2003, 0, {}, "newer"),
                   Plain(Author(4), 2004, 5, {{"a", "0:" + Author(4) + ":"}}),
                   Plain(Author(6), 2005, 62, {{"relay", "ALL_RELAYS"}})});
  EXPECT_FALSE(store->RemoveVanished(kTurnWork).value().more && store->RemoveVanished(kTurnWork).value().more);
  database_.Ask("CALL weir_attach('first', 'MINVALUE', '1000')");
  for (OwedPiece piece{.more = true}; piece.more;) piece = store->RemoveVanished(kTurnWork).value();
  EXPECT_EQ(Counts("weir_events"), "weir_events_first 3, weir_events_p1 6");
  EXPECT_EQ(Counts("weir_tags WHERE tableoid = 'weir_tags_first'::regclass"), "weir_tags_first 1");
  EXPECT_EQ(Counts("weir_words"), "weir_words_first 1");
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), std::vector<std::string>{"word stays"});
  EXPECT_EQ(MustOpen(Options("another"))->Sizes().events, 9U);
  EXPECT_EQ(Outcomes(*store, {note, wrap, Plain(Author(4), 15, 0, {}, "deleted"), Plain(Author(4), 16, 0)}),
            (std::vector{SaveOutcome::kDeleted, SaveOutcome::kDeleted, SaveOutcome::kDeleted, SaveOutcome::kDeleted}));
}

}  // namespace
}  // namespace weir
