// The store on PostgreSQL: what every store promises, and what it does with a server.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/fixtures/plain_event.h"
#include "tests/relay/store/postgres/partitions.h"
#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Postgres, StoreSuite,
    testing::Values(
        StoreKind{"postgres", [](const std::string& own_url) { return std::make_unique<PostgresUnderTest>(own_url); },
                  4},
        StoreKind{"postgres_partitioned",
                  [](const std::string& own_url) { return std::make_unique<PartitionedUnderTest>(own_url); }, 1}),
    NameOfKind);

Event WrapFor(uint64_t recipient, uint64_t time) {
  return ToEvent(Plain(Author(50 + time), time, 1059, {{"p", Author(recipient)}}));
}

void MustSave(EventStore& store, const std::vector<Event>& events) {
  std::vector<SaveResult> results(events.size());
  const Status saved = store.Save(events, 0, results);
  ASSERT_TRUE(saved.ok()) << saved.message();
}

// Some databases with PostgreSQL's protocol have no places of rows; the server says of a view what these say.
TEST(PostgresGroupsTest, ADatabaseWithoutPagesHasNone) {
  const PostgresDatabase database;
  const auto store = MustOpen(database.Options());
  MustSave(*store, {WrapFor(1, 1)});
  EXPECT_EQ(store->Groups({}).value().size(), 1U);
  database.Ask("ALTER TABLE weir_events RENAME TO events; CREATE VIEW weir_events AS SELECT * FROM events");
  const Result<std::vector<EventGroups>> groups = MustOpen(database.Options("there"))->Groups({});
  ASSERT_TRUE(groups.ok()) << groups.status().message();
  EXPECT_EQ(groups.value().size(), 0U);
}

// A server that is far away must not hold a thread for longer than one that is near.
TEST(PostgresGroupsTest, TheWaitForAPageIsWork) {
  class SlowClock final : public Clock {
   public:
    TimePoint Now() const override { return TimePoint(std::chrono::milliseconds(5 * ++calls_)); }

   private:
    mutable int calls_ = 0;
  };
  const PostgresDatabase database;
  const SlowClock clock;
  PostgresStoreOptions options = database.Options();
  options.clock = &clock;
  const auto store = MustOpen(options);
  MustSave(*store, {WrapFor(1, 1)});
  const Result<std::vector<EventGroups>> groups = store->Groups({});
  ASSERT_TRUE(groups.ok()) << groups.status().message();
  const Result<Work> work = groups.value().at(0).read(0, 0, [](uint64_t, Serial, EventView) { return true; });
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_EQ(work.value(), 5 * kTurnWork);
}

// The table knows a hash of eight bytes, and another key may be found that has the same one.
TEST(PostgresVanishTest, WrapsForOthersOfTheSameHashStay) {
  const PostgresDatabase database;
  const auto store = MustOpen(database.Options());
  std::vector<Event> events;
  for (uint64_t time = 1; time <= 200; ++time) events.push_back(WrapFor(time % 40 == 0 ? 1 : 2, time));
  MustSave(*store, events);
  database.Ask("UPDATE weir_tags SET tag = (SELECT tag FROM weir_tags WHERE created_at = 40)");
  MustSave(*store, {ToEvent(Plain(Author(1), 1000, 62, {{"relay", "ALL_RELAYS"}}))});
  for (Result<OwedPiece> piece = OwedPiece{.more = true}; piece.value().more;) {
    piece = store->RemoveVanished(kTurnWork);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
  }
  for (const Event& event : events)
    EXPECT_EQ(store->Has(event.view().id()).value(), event.view().created_at() % 40 != 0);
}

TEST(PostgresVanishTest, ARequestForANewAddressIsDoneWhenItComesAgain) {
  const PostgresDatabase database;
  PostgresStoreOptions options = database.Options();
  const Event note = ToEvent(Plain(Author(1), 10, 1));
  const Event request = ToEvent(Plain(Author(1), 20, 62, {{"relay", "wss://new.example"}}));
  MustSave(*MustOpen(options), {note, request});
  options.own_urls = {"wss://new.example"};
  const auto store = MustOpen(options);
  EXPECT_TRUE(store->Has(note.view().id()).value());
  MustSave(*store, {request, request});
  EXPECT_FALSE(store->Has(note.view().id()).value());
  EXPECT_TRUE(store->Has(request.view().id()).value());
}

// A damaged record cannot be removed, because its index entries are unknown. More of them than are read at once come
// first.
class DamagedRecordsTest : public testing::Test {
 protected:
  static constexpr uint64_t kDamaged = 5;
  static constexpr uint64_t kNotes = 10;
  static constexpr Work kSmallest = 1;  // one record at once

  // Saves notes, and damages the records of those that a removal meets first.
  void SaveNotes(const std::string& damaged_first) {
    std::vector<Event> events;
    for (uint64_t n = 1; n <= kNotes; ++n)
      events.push_back(ToEvent(Plain(Author(1), n, 1, {{"expiration", std::to_string(n)}})));
    MustSave(*store_, events);
    database_.Ask("UPDATE weir_events SET record = '\\x00' WHERE " + damaged_first);
  }
  // Returns the number of events that were removed, and fails if the removal does not come to an end.
  uint64_t RemovedBy(const std::function<Result<OwedPiece>()>& remove_piece) {
    uint64_t removed = 0;
    for (uint64_t pieces = 0; pieces <= 3 * kNotes; ++pieces) {
      const Result<OwedPiece> piece = remove_piece();
      EXPECT_TRUE(piece.ok()) << piece.status().message();
      if (!piece.ok()) return removed;
      removed += piece.value().removed;
      if (!piece.value().more) return removed;
    }
    ADD_FAILURE() << "no end";
    return removed;
  }

  const PostgresDatabase database_;
  const std::unique_ptr<PostgresStore> store_ = MustOpen(database_.Options());
};

TEST_F(DamagedRecordsTest, TheOthersOfTheirAuthorVanishAndThatEnds) {
  SaveNotes("created_at > " + std::to_string(kNotes - kDamaged));
  const Event request = ToEvent(Plain(Author(1), 1000, 62, {{"relay", "ALL_RELAYS"}}));
  SaveResult result;
  ASSERT_TRUE(store_->SaveSome({&request, 1}, 0, kTurnWork, {&result, 1}).ok());
  EXPECT_EQ(RemovedBy([this] { return store_->RemoveVanished(kSmallest); }), kNotes - kDamaged);
  EXPECT_EQ(database_.Ask("SELECT count(*) FROM weir_vanished WHERE owed"), "0");
  EXPECT_FALSE(store_->owes_vanishing());
  EXPECT_TRUE(store_->Has(request.view().id()).value());
}

TEST_F(DamagedRecordsTest, TheOthersExpireAndThatEnds) {
  SaveNotes("expiration <= " + std::to_string(kDamaged));
  EXPECT_EQ(RemovedBy([this] { return store_->RemoveExpired(1000, kSmallest); }), kNotes - kDamaged);
}

// Each relay would wait for a row of the other's, until the server ends one of them after a second.
TEST(PostgresSaveTest, TheSameEventsInAnotherOrderAtAnotherRelayAreNoDeadlock) {
  const PostgresDatabase database;
  const auto here = MustOpen(database.Options("here"));
  const auto there = MustOpen(database.Options("there"));
  for (uint64_t round = 0; round < 20; ++round) {
    std::vector<Event> events;
    for (uint64_t i = 0; i < 40; ++i) events.push_back(ToEvent(Plain(Author(i), 100 * round + i, i % 2 == 0 ? 0 : 1)));
    const std::vector<Event> reversed(events.rbegin(), events.rend());
    std::thread saves([&] { MustSave(*there, reversed); });
    MustSave(*here, events);
    saves.join();
  }
  EXPECT_EQ(database.Ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"), "0");
}

}  // namespace
}  // namespace weir
