// Requests to vanish (NIP-62) and what they owe.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "tests/fixtures/plain_event.h"
#include "tests/relay/store/index_oracle.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class VanishingTest : public testing::Test {
 protected:
  // Saves without doing what is owed.
  void SaveOnly(const std::vector<PlainEvent>& events) {
    std::vector<Event> records;
    for (const PlainEvent& event : events) records.push_back(ToEvent(event));
    std::vector<SaveResult> results(events.size());
    ASSERT_EQ(store_->SaveSome(records, 0, 1000 * kTurnWork, results).value(), events.size());
  }
  SaveOutcome OutcomeOf(const PlainEvent& event) {
    std::vector<SaveResult> results(1);
    EXPECT_EQ(store_->SaveSome(std::vector{ToEvent(event)}, 0, kTurnWork, results).value(), 1U);
    return results[0].outcome;
  }
  // Counts the pieces, each of about the work `most`, until nothing is owed; 0, and a failure, if there is no end.
  int PiecesOwed(Work most) {
    for (int pieces = 1; pieces < 10'000; ++pieces) {
      const Result<OwedPiece> done = store_->RemoveVanished(most);
      EXPECT_TRUE(done.ok()) << done.status().message();
      if (!done.ok() || !done.value().more) return pieces;
    }
    ADD_FAILURE() << "no end";
    return 0;
  }
  void Reopen(const std::string& own_url = "wss://weir.example") {
    store_.reset();
    StoreOptions options = SmallStore(directory_ / "events");
    options.own_urls = {own_url};
    store_ = MustOpen(options);
    ASSERT_NE(store_, nullptr);
  }
  static PlainEvent RequestOf(const std::string& author, uint64_t at) {
    return Plain(author, at, 62, {{"relay", "ALL_RELAYS"}});
  }
  static std::vector<PlainEvent> NotesOf(const std::string& author, uint64_t from, uint64_t to) {
    std::vector<PlainEvent> notes;
    for (uint64_t at = from; at < to; ++at) notes.push_back(Plain(author, at, at % 3 == 0 ? 7 : 1, {{"t", "a"}}));
    return notes;
  }

  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
};

// There is more than one piece of removal, and the request stays.
TEST_F(VanishingTest, ALargeAuthorVanishes) {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 2000; ++i) events.push_back(Plain(Author(1), i, 1, {{"t", "a"}}));
  events.push_back(Plain(Author(1), 5000, 1));
  events.push_back(Plain(Author(2), 10, 1059, {{"p", Author(1)}}));
  events.push_back(Plain(Author(2), 10, 1, {{"p", Author(1)}}));
  SaveAll(*store_, events);
  const PlainEvent request = RequestOf(Author(1), 4000);
  EXPECT_EQ(SaveAll(*store_, {request, events[0]}), (std::vector{SaveOutcome::kSaved, SaveOutcome::kVanished}));
  EXPECT_EQ(StoredIds(*store_), (std::vector<std::string>{events[2000].id, events[2002].id, request.id}));
  EXPECT_EQ(store_->Sizes().events, 3U);
  EXPECT_EQ(SaveAll(*store_, {events[1], request, events[2001]}),
            (std::vector{SaveOutcome::kVanished, SaveOutcome::kDuplicate, SaveOutcome::kVanished}));
  EXPECT_EQ(IndexDifference(*store_), "");
}

TEST_F(VanishingTest, GoesInPiecesOfBoundedWorkAndSurvivesACrashBetweenThem) {
  SaveAll(*store_, NotesOf(Author(1), 1, 301));
  const PlainEvent request = RequestOf(Author(1), 200);
  SaveOnly({request});
  EXPECT_EQ(store_->Sizes().events, 301U) << "what it names is owed";
  for (int piece = 0; piece < 12; ++piece) {
    const uint64_t before = store_->Sizes().events;
    const Result<OwedPiece> done = store_->RemoveVanished(60 * kEntryWork);
    ASSERT_TRUE(done.ok()) << done.status().message();
    EXPECT_TRUE(done.value().more);
    EXPECT_EQ(before - store_->Sizes().events, done.value().removed);
    EXPECT_LE(done.value().removed, 12U) << "of six entries each";
    if (piece % 4 == 3) Reopen();
  }
  EXPECT_NE(PiecesOwed(60 * kEntryWork), 0);
  EXPECT_EQ(store_->Sizes().events, 101U);
  EXPECT_TRUE(store_->Has(ToBytes(request.id)).value());
  EXPECT_EQ(IndexDifference(*store_), "");
  Reopen();
  EXPECT_EQ(PiecesOwed(60 * kEntryWork), 1) << "and that is the end of it";
}

TEST_F(VanishingTest, EveryPieceGetsOnHoweverSmall) {
  SaveAll(*store_, NotesOf(Author(1), 1, 21));
  SaveOnly({RequestOf(Author(1), 200)});
  EXPECT_LE(PiecesOwed(1), 40);
  EXPECT_EQ(store_->Sizes().events, 1U);
}

// RocksDB keeps what was deleted until it compacts.
TEST_F(VanishingTest, PassesOverWhatWasDeletedInPiecesToo) {
  constexpr int kDeleted = 2000;
  for (uint64_t i = 0; i < kDeleted; ++i) SaveAll(*store_, {Plain(Author(1), 1, 1, {}, std::to_string(i))});
  SaveAll(*store_, {RequestOf(Author(1), 10)});
  SaveOnly({RequestOf(Author(1), 20)});
  EXPECT_GE(PiecesOwed(1), kDeleted / 100);
  EXPECT_EQ(store_->Sizes().events, 1U);
  EXPECT_EQ(IndexDifference(*store_), "");
}

TEST_F(VanishingTest, PassesOverWhatWasAskedForAgainAndAgain) {
  constexpr int kDone = 1000;
  for (uint64_t i = 0; i < kDone; ++i) SaveAll(*store_, {RequestOf(Author(1 + i % 2), i)});
  Reopen();
  SaveOnly({RequestOf(Author(3), 20)});
  EXPECT_NE(PiecesOwed(1), 0);
  EXPECT_EQ(store_->Sizes().events, 3U);
}

TEST_F(VanishingTest, PassesOverWhatIsNewerBySeeking) {
  SaveAll(*store_, NotesOf(Author(1), 1000, 4000));
  for (uint64_t at = 1; at < 4; ++at) {
    SaveOnly({RequestOf(Author(1), at)});
    EXPECT_LE(PiecesOwed(60 * kSeekWork), 2);
  }
  EXPECT_EQ(store_->Sizes().events, 3001U);
}

TEST_F(VanishingTest, ManyRequestsBesideManyNewerWrapsCostLittle) {
  std::vector<PlainEvent> wraps;
  std::vector<Tag> recipients;
  for (uint64_t i = 0; i < 60; ++i) recipients.push_back({"p", Author(100 + i)});
  for (uint64_t i = 0; i < 200; ++i) wraps.push_back(Plain(Author(9), 1000 + i, 1059, recipients));
  SaveAll(*store_, wraps);
  std::vector<PlainEvent> requests;
  for (uint64_t i = 0; i < 60; ++i) requests.push_back(RequestOf(Author(100 + i), 5));
  SaveOnly(requests);
  EXPECT_LE(PiecesOwed(1'200 * kSeekWork), 3);
  EXPECT_EQ(store_->Sizes().events, 260U);
}

TEST_F(VanishingTest, AWrapBetweenTwoVanishingAuthorsIsRemovedOnce) {
  SaveAll(*store_, {Plain(Author(1), 10, 1059, {{"p", Author(2)}}), Plain(Author(3), 10, 1)});
  SaveOnly({RequestOf(Author(1), 20), RequestOf(Author(2), 20)});
  EXPECT_EQ(PiecesOwed(kTurnWork), 1);
  EXPECT_EQ(store_->Sizes().events, 3U);
  EXPECT_EQ(IndexDifference(*store_), "");
}

// RocksDB passes over at most a hundred deleted entries at once, so the walk stops at some of these requests again.
TEST_F(VanishingTest, EndsAfterMoreRequestsThanAreDeletedAtOnce) {
  constexpr uint64_t kRequests = 300;
  std::vector<PlainEvent> requests;
  for (uint64_t i = 0; i < kRequests; ++i) requests.push_back(RequestOf(Author(i), 10));
  SaveOnly(requests);
  EXPECT_NE(PiecesOwed(100 * kTurnWork), 0);
  // `most` also makes the time of each request another one.
  for (const Work most : {Work{1}, kTurnWork}) {
    SaveOnly({RequestOf(Author(kRequests), most)});
    EXPECT_NE(PiecesOwed(most), 0);
    EXPECT_FALSE(store_->owes_vanishing());
  }
}

TEST_F(VanishingTest, ADamagedRequestIsPassedOver) {
  SaveAll(*store_, NotesOf(Author(1), 1, 21));
  rocksdb::ColumnFamilyHandle* index = store_->families()[2];
  for (const std::string key : {"w", "w\x01", "wx"}) ASSERT_TRUE(store_->db()->Put({}, index, key, "damaged").ok());
  // `most` also makes the time of each request another one.
  for (const Work most : {Work{1}, kTurnWork}) {
    SaveOnly({RequestOf(Author(1), 200 + most)});
    EXPECT_NE(PiecesOwed(most), 0);
    EXPECT_EQ(store_->Sizes().events, 1U);
  }
}

// A request may come before the place that the walk has reached.
TEST_F(VanishingTest, RequestsThatComeAmidOthersAreDoneBeforeTheEnd) {
  std::vector<std::string> authors;
  for (uint64_t i = 0; i < 5; ++i) authors.push_back(Author(i));
  std::ranges::sort(authors);
  for (const std::string& author : authors) SaveAll(*store_, NotesOf(author, 1, 21));
  for (size_t i = authors.size(); i > 0; --i) {
    SaveOnly({RequestOf(authors[i - 1], 200)});
    ASSERT_TRUE(store_->RemoveVanished(1).value().more);
  }
  EXPECT_NE(PiecesOwed(1), 0);
  EXPECT_EQ(store_->Sizes().events, authors.size());
}

TEST_F(VanishingTest, ASecondRequestAmidTheFirstTakesOver) {
  SaveAll(*store_, NotesOf(Author(1), 1, 201));
  const PlainEvent first = RequestOf(Author(1), 100);
  SaveOnly({first});
  ASSERT_TRUE(store_->RemoveVanished(60 * kEntryWork).value().more);
  const PlainEvent second = RequestOf(Author(1), 300);
  SaveOnly({second});
  EXPECT_NE(PiecesOwed(60 * kEntryWork), 0);
  EXPECT_EQ(StoredIds(*store_), std::vector{second.id});
}

// Otherwise its sender would take it for stored.
TEST_F(VanishingTest, AnEventThatIsYetToVanishIsNoDuplicate) {
  const std::vector<PlainEvent> notes = NotesOf(Author(1), 1, 4);
  SaveAll(*store_, notes);
  const PlainEvent first = RequestOf(Author(1), 100);
  const PlainEvent second = RequestOf(Author(1), 200);
  SaveOnly({first});
  EXPECT_EQ(OutcomeOf(notes[0]), SaveOutcome::kVanished);
  EXPECT_EQ(OutcomeOf(first), SaveOutcome::kDuplicate) << "it stays";
  SaveOnly({second});
  EXPECT_EQ(OutcomeOf(first), SaveOutcome::kVanished);
  EXPECT_EQ(OutcomeOf(second), SaveOutcome::kDuplicate);
  EXPECT_NE(PiecesOwed(kTurnWork), 0);
  EXPECT_EQ(OutcomeOf(notes[0]), SaveOutcome::kVanished);
  EXPECT_EQ(StoredIds(*store_), std::vector{second.id});
}

TEST_F(VanishingTest, EverySpellingOfOurAddressIsDone) {
  int n = 0;
  for (const char* url : {"wss://weir.example:443", "ws://weir.example", "weir.example", "wss://WEIR.example./"}) {
    const std::string author = Author(50 + static_cast<uint64_t>(n++));
    const PlainEvent note = Plain(author, 10, 1);
    SaveAll(*store_, {note, Plain(author, 20, 62, {{"relay", url}})});
    EXPECT_FALSE(store_->Has(ToBytes(note.id)).value()) << url;
  }
}

TEST_F(VanishingTest, ARequestForANewAddressIsDoneWhenItComesAgain) {
  const PlainEvent note = Plain(Author(1), 10, 1);
  const PlainEvent request = Plain(Author(1), 20, 62, {{"relay", "wss://new.example"}});
  SaveAll(*store_, {note, request});
  EXPECT_EQ(SaveAll(*store_, {request}), std::vector{SaveOutcome::kDuplicate});
  EXPECT_EQ(store_->Sizes().events, 2U) << "it names another relay";
  Reopen("wss://new.example");
  const PlainEvent pending = Plain(Author(1), 15, 1);
  EXPECT_EQ(SaveAll(*store_, {pending, request, request}),
            (std::vector{SaveOutcome::kSaved, SaveOutcome::kDuplicate, SaveOutcome::kDuplicate}));
  EXPECT_EQ(StoredIds(*store_), std::vector{request.id});
  EXPECT_EQ(SaveAll(*store_, {note, request}), (std::vector{SaveOutcome::kVanished, SaveOutcome::kDuplicate}));
  EXPECT_EQ(store_->Sizes().events, 1U);
  EXPECT_EQ(IndexDifference(*store_), "");
}

TEST_F(VanishingTest, EventsThatExpireTogetherGoInPiecesOfBoundedWork) {
  std::vector<PlainEvent> events;
  std::vector<Tag> tags{{"expiration", "100"}};
  for (int t = 0; t < 50; ++t) tags.push_back({"t", std::to_string(t)});
  for (uint64_t i = 0; i < 30; ++i) events.push_back(Plain(Author(1), i, 1, tags));
  SaveAll(*store_, events);
  EXPECT_EQ(store_->RemoveExpired(99, kTurnWork).value().removed, 0U);
  uint64_t removed = 0;
  for (OwedPiece done{.more = true}; done.more; removed += done.removed) {
    done = store_->RemoveExpired(100, 100 * kEntryWork).value();
    EXPECT_LE(done.removed, 2U);
  }
  EXPECT_EQ(removed, 30U);
  EXPECT_EQ(store_->Sizes().events, 0U);
  EXPECT_EQ(IndexDifference(*store_), "");
}

}  // namespace
}  // namespace weir
