// The news that a relay reads of the others' saves: the stores alone, without relays around them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "relay/store/postgres/postgres_news.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

class NewsTest : public testing::Test {
 protected:
  static Event NoteOf(uint64_t number) { return ToEvent(Plain(Author(1), RandomNostr::kStart + number, 1)); }
  static void Save(EventStore& store, const Event& event, bool is_history = false) {
    SaveResult result;
    const std::span<const Event> events(&event, 1);
    const auto saved = is_history ? store.SaveSomeHistory(events, 0, kTurnWork, {&result, 1})
                                  : store.SaveSome(events, 0, kTurnWork, {&result, 1});
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_EQ(result.outcome, SaveOutcome::kSaved);
  }
  static std::vector<uint64_t> TimesOf(const Result<std::vector<SharedEvent>>& events) {
    EXPECT_TRUE(events.ok()) << events.status().message();
    std::vector<uint64_t> times;
    for (const SharedEvent& event : events.value())
      times.push_back(event.event.view().created_at() - RandomNostr::kStart);
    return times;
  }
  // Does what a COMMIT with a lost answer does: the only event is there once more, by another id. Returns its number.
  uint64_t CommitUnknowingly() const {
    database_.Ask(
        "INSERT INTO weir_events SELECT sha256(id), origin, serial + 1, pubkey, kind, created_at, expiration, record"
        " FROM weir_events");
    return std::stoull(database_.Ask("UPDATE weir_origins SET serial = serial + 1, events = 2 RETURNING serial"));
  }
  static constexpr auto kSomebody = [] { return true; };
  static constexpr auto kNobody = [] { return false; };

  PostgresDatabase database_;
};

TEST_F(NewsTest, AreNewEventsOfOthersInOrderWithoutHistory) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  Save(*there, NoteOf(1));
  Save(*here, NoteOf(2));
  Save(*there, NoteOf(3), true);
  Save(*there, NoteOf(4));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{1, 4}));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
  Save(*there, NoteOf(5));
  EXPECT_EQ(TimesOf(news.Read(kNobody)), (std::vector<uint64_t>{}));
  const auto late = MustOpen(database_.Options("late"));
  Save(*late, NoteOf(6));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{6})) << "5 was passed over, while nobody listened";
}

TEST_F(NewsTest, ComeInPieces) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 150; ++i) {
    Save(*there, NoteOf(i));
    if (i != 70) expected.push_back(i);
  }
  EXPECT_EQ(there->Delete(std::vector{NoteOf(70).view().id()}).value(), 1U);
  std::vector<uint64_t> all;
  do {
    for (const uint64_t time : TimesOf(news.Read(kSomebody))) all.push_back(time);
  } while (news.more());
  EXPECT_EQ(all, expected);
}

TEST_F(NewsTest, ComeInPiecesOfBoundedBytes) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  constexpr uint64_t kLarge = 30;
  for (uint64_t i = 0; i < kLarge; ++i)
    Save(*there, ToEvent(Plain(Author(1), RandomNostr::kStart + i, 1, {}, std::string(120'000, 'x'))));
  std::vector<uint64_t> all;
  int pieces = 0;
  do {
    const std::vector<uint64_t> times = TimesOf(news.Read(kSomebody));
    EXPECT_LE(times.size(), 9U);
    all.insert(all.end(), times.begin(), times.end());
    ++pieces;
  } while (news.more());
  ASSERT_EQ(all.size(), kLarge);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_GE(pieces, 4);
}

// After a failed read there is no more to read at once: a server that is away is asked again at the reader's own pace.
TEST_F(NewsTest, PromiseNoMoreEventsAfterAFailedRead) {
  PostgresProcess server({"fsync=off"});
  const PostgresStoreOptions options{.conninfo = server.conninfo(), .settings = {.origin = "here"}};
  const auto here = MustOpen(options);
  PostgresStoreOptions other = options;
  other.settings.origin = "there";
  const auto there = MustOpen(other);
  PostgresNews news(*here, here->Now().value());
  for (uint64_t i = 0; i < 100; ++i) Save(*there, NoteOf(i));
  EXPECT_TRUE(news.Read(kSomebody).ok());
  EXPECT_TRUE(news.more());
  server.Kill();
  EXPECT_FALSE(news.Read(kSomebody).ok());
  EXPECT_FALSE(news.more());
}

// A standby that was promoted may lack the last events. Others have read up to the numbers of these.
TEST_F(NewsTest, HaveNewNumbersAfterAServerForgotTheLast) {
  for (const bool restarted : {false, true}) {
    PostgresDatabase database;
    const auto here = MustOpen(database.Options("here"));
    auto there = MustOpen(database.Options("there"));
    PostgresNews news(*here, here->Now().value());
    Save(*there, NoteOf(1));
    const std::string serial = database.Ask("SELECT serial FROM weir_origins WHERE name = 'there'");
    for (uint64_t i = 2; i <= 10; ++i) Save(*there, NoteOf(i));
    EXPECT_EQ(TimesOf(news.Read(kSomebody)).size(), 10U);
    if (restarted) there.reset();
    database.Ask("DELETE FROM weir_events WHERE serial > " + serial);
    database.Ask("UPDATE weir_origins SET serial = " + serial + " WHERE name = 'there'");
    if (restarted) there = MustOpen(database.Options("there"));
    Save(*there, NoteOf(11));
    EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{11})) << restarted;
  }
}

// A relay that has taken over the number of an origin which the server forgot whole is no exception.
TEST_F(NewsTest, HaveNewNumbersAfterAServerForgotAnOrigin) {
  const auto here = MustOpen(database_.Options("here"));
  auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  for (uint64_t i = 1; i <= 10; ++i) Save(*there, NoteOf(i));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)).size(), 10U);
  there.reset();
  database_.Ask("DELETE FROM weir_events WHERE origin = (SELECT origin FROM weir_origins WHERE name = 'there')");
  database_.Ask("DELETE FROM weir_origins WHERE name = 'there'");
  there = MustOpen(database_.Options("another"));
  Save(*there, NoteOf(11));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{11}));
}

TEST_F(NewsTest, ComeFromTheRelayThatTookTheName) {
  const auto before = MustOpen(database_.Options("same"));
  PostgresNews news(*before, before->Now().value());
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
  EXPECT_FALSE(news.name_is_taken());
  const auto after = MustOpen(database_.Options("same"));
  Save(*after, NoteOf(1));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{1}));
  EXPECT_TRUE(news.name_is_taken());
}

// The shortcut for duplicates is off while something is owed, and on again when another relay has done it.
TEST_F(NewsTest, TellThatNoWorkIsOwedAnyMore) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  const auto settle = [](EventStore& store) {
    while (store.RemoveVanished(kTurnWork).value().more) {
    }
  };
  settle(*here);
  PostgresNews news(*here, here->Now().value());
  Save(*there, ToEvent(Plain(Author(1), RandomNostr::kStart, 62, {{"relay", "ALL_RELAYS"}}, "")));
  EXPECT_TRUE(news.Read(kSomebody).ok());
  EXPECT_TRUE(here->owes_vanishing());
  settle(*there);
  EXPECT_TRUE(news.Read(kSomebody).ok());
  EXPECT_FALSE(here->owes_vanishing());
}

// The save was answered with an error, so the relay's own subscribers have not heard of the event.
TEST_F(NewsTest, IncludeOwnEventsThatWereSavedUnknowingly) {
  const auto here = MustOpen(database_.Options("here"));
  PostgresNews news(*here, here->Now().value());
  Save(*here, NoteOf(1));
  const uint64_t serial = CommitUnknowingly();
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
  Save(*here, NoteOf(3));
  const Result<std::vector<SharedEvent>> events = news.Read(kSomebody);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events.value().size(), 1U);
  EXPECT_EQ(events.value()[0].serial, (Serial{1, serial}));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
}

TEST_F(NewsTest, OwnUnknowingSavesAreNotKeptWithoutAListener) {
  const auto here = MustOpen(database_.Options("here"));
  PostgresNews news(*here, here->Now().value());
  Save(*here, NoteOf(1));
  CommitUnknowingly();
  Save(*here, NoteOf(3));
  EXPECT_TRUE(here->UnknownNews());
  EXPECT_EQ(TimesOf(news.Read(kNobody)), (std::vector<uint64_t>{}));
  EXPECT_FALSE(here->UnknownNews());
}

// One relay sees no deletion and the other no event, unless one waits for the other.
TEST_F(NewsTest, AnEventThatIsDeletedAtTheSameTimeIsGone) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  for (uint64_t round = 0; round < 60; ++round) {
    const Event note = NoteOf(round);
    const Event deletion = ToEvent(
        Plain(Author(1), RandomNostr::kStart + round, 5, {{"e", ToHex(note.view().id())}}, std::to_string(round)));
    SaveResult deleted;
    std::thread deletes([&] {
      const auto saved = there->SaveSome({&deletion, 1}, 0, kTurnWork, {&deleted, 1});
      EXPECT_TRUE(saved.ok()) << saved.status().message();
    });
    SaveResult result;
    const auto saved = here->SaveSome({&note, 1}, 0, kTurnWork, {&result, 1});
    EXPECT_TRUE(saved.ok()) << saved.status().message();
    deletes.join();
    ASSERT_FALSE(here->Has(note.view().id()).value()) << "round " << round;
    ASSERT_EQ(deleted.outcome, SaveOutcome::kSaved);
  }
}

TEST_F(NewsTest, OnlyTheLastRelayToTakeANameSaves) {
  const auto before = MustOpen(database_.Options("same"));
  const auto after = MustOpen(database_.Options("same"));
  SaveResult result;
  const Event note = NoteOf(1);
  const auto refused = before->SaveSome({&note, 1}, 0, kTurnWork, {&result, 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(Has(refused.status().message(), "give every relay and import a WEIR_ORIGIN of its own"))
      << refused.status().message();
  Save(*after, note);
}

TEST_F(NewsTest, ARelayWithoutItsNameIsStuckAndDoesNotTellTheName) {
  const auto before = MustOpen(database_.Options("db-host:3334"));
  EXPECT_TRUE(before->Stuck().ok());
  const auto after = MustOpen(database_.Options("db-host:3334"));
  SaveResult result;
  const Event note = NoteOf(1);
  EXPECT_FALSE(before->SaveSome({&note, 1}, 0, kTurnWork, {&result, 1}).ok());
  const Status stuck = before->Stuck();
  EXPECT_TRUE(Has(stuck.message(), "start this one again")) << stuck.message();
  EXPECT_FALSE(Has(ErrorForStrangers(stuck), "db-host")) << stuck.message();
  Save(*after, note);
  EXPECT_TRUE(after->Stuck().ok());
}

TEST_F(NewsTest, ARelayThatLostOnlyTheNameOfItsImportsIsNotStuck) {
  const auto here = MustOpen(database_.Options("here"));
  Save(*here, NoteOf(1), true);
  const auto other = MustOpen(database_.Options("here (history)"));
  SaveResult result;
  const Event note = NoteOf(2);
  EXPECT_FALSE(here->SaveSomeHistory({&note, 1}, 0, kTurnWork, {&result, 1}).ok());
  EXPECT_TRUE(here->Stuck().ok());
  Save(*here, note);
}

}  // namespace
}  // namespace weir
