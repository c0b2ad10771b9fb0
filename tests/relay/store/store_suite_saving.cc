// The outcomes of saving one event after another.
#include <gtest/gtest.h>

#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

SaveOutcome Save(EventStore& store, const PlainEvent& event, uint64_t now_seconds) {
  std::vector<SaveResult> results(1);
  const Status saved = store.Save(std::vector{ToEvent(event)}, now_seconds, results);
  EXPECT_TRUE(saved.ok()) << saved.message();
  return results[0].outcome;
}

// NIP-59: the key that signed the wrap is thrown away, so its author cannot delete it.
TEST_P(StoreSuite, AGiftWrapIsDeletedByEachThatItIsForAndDoesNotComeAgain) {
  for (const bool deletion_comes_first : {false, true}) {
    const auto place = MakePlace();
    const auto store = place->Open();
    ASSERT_NE(store, nullptr);
    const auto wrap = [](const std::string& content) {
      return Plain(Author(1), 1000, 1059, {{"p", Author(2)}, {"p", Author(3)}}, content);
    };
    const PlainEvent wraps[] = {wrap("a"), wrap("b"), wrap("c")};
    const PlainEvent note = Plain(Author(1), 1000, 1, {{"p", Author(2)}}, "no wrap");
    const auto save_all = [&] {
      for (const PlainEvent& event : wraps) Save(*store, event, 0);
      Save(*store, note, 0);
    };
    if (!deletion_comes_first) save_all();
    Save(*store, Plain(Author(2), 1001, 5, {{"e", wraps[0].id}, {"e", note.id}}), 0);
    Save(*store, Plain(Author(3), 1001, 5, {{"e", wraps[1].id}}), 0);
    Save(*store, Plain(Author(4), 1001, 5, {{"e", wraps[2].id}}), 0);
    if (deletion_comes_first) save_all();
    EXPECT_EQ(Save(*store, wraps[0], 0), SaveOutcome::kDeleted);
    EXPECT_EQ(Save(*store, wraps[1], 0), SaveOutcome::kDeleted);
    EXPECT_EQ(Save(*store, wraps[2], 0), SaveOutcome::kDuplicate) << "it is not for the fourth";
    EXPECT_EQ(Save(*store, note, 0), SaveOutcome::kDuplicate) << "a note belongs to its author alone";
    EXPECT_EQ(place->Difference(*store), "");
  }
}

TEST_P(StoreSuite, AVersionThatHasExpiredBeatsNoOther) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  for (const uint16_t kind : {0, 30023}) {
    const PlainEvent older = Plain(Author(1), 1000, kind, {{"d", "x"}}, "older");
    const PlainEvent newer = Plain(Author(1), 2000, kind, {{"d", "x"}, {"expiration", "3000"}}, "newer");
    EXPECT_EQ(Save(*store, newer, 2999), SaveOutcome::kSaved);
    EXPECT_EQ(Save(*store, older, 2999), SaveOutcome::kSuperseded) << "it has not expired";
    EXPECT_EQ(Save(*store, older, 3000), SaveOutcome::kSaved);
    EXPECT_EQ(Save(*store, newer, 3000), SaveOutcome::kExpired);
    EXPECT_EQ(Save(*store, older, 3000), SaveOutcome::kDuplicate);
  }
  EXPECT_EQ(place->Difference(*store), "");
}

std::string MemosIn(const EventStore& store) {
  std::string memos;
  const Result<uint64_t> read = store.ReadMemos(
      0, [&](const Memo& memo) { memos += memo.text ? memo.name + "=" + *memo.text + " " : memo.name + " is gone "; });
  EXPECT_TRUE(read.ok()) << read.status().message();
  return memos;
}

TEST_P(StoreSuite, MemosAreWrittenTogetherAndSurviveARestart) {
  const auto place = MakePlace();
  auto store = place->Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(MemosIn(*store), "");
  const std::vector<Memo> two{{"a/1", "one"}, {"a/2", ""}};
  ASSERT_TRUE(store->WriteMemos(two).ok());
  const std::vector<Memo> changes{{"a/1", std::nullopt}, {"b/\"ä", "three"}};
  ASSERT_TRUE(store->WriteMemos(changes).ok());
  for (int opened = 0; opened < 2; ++opened) {
    std::string memos = MemosIn(*store);
    if (memos.starts_with("a/1 is gone ")) memos.erase(0, 12);
    const size_t gone = memos.find("a/1 is gone ");
    if (gone != memos.npos) memos.erase(gone, 12);
    EXPECT_EQ(memos, "a/2= b/\"ä=three ");
    store.reset();
    store = place->Open();
    ASSERT_NE(store, nullptr);
  }
  EXPECT_EQ(place->Difference(*store), "") << "the check of a store passes over memos";
}

TEST_P(StoreSuite, AnAuthorIsRemovedInPiecesAndMayWriteAgain) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  const PlainEvent other = Plain(Author(2), 1, 1, {{"p", Author(1)}}, "of another author");
  EXPECT_EQ(Save(*store, other, 0), SaveOutcome::kSaved);
  std::vector<Event> events;
  for (uint64_t n = 0; n < 300; ++n)
    events.push_back(ToEvent(Plain(Author(1), 1000 + n, n % 3 == 0 ? 30023 : 1, {{"d", std::to_string(n)}})));
  std::vector<SaveResult> results(events.size());
  ASSERT_TRUE(store->Save(events, 0, results).ok());
  std::string resume;
  uint64_t removed = 0;
  size_t pieces = 0;
  for (bool more = true; more; ++pieces) {
    const Result<OwedPiece> piece = store->RemoveAuthor(ToBytes(Author(1)), &resume, kTurnWork);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
    ASSERT_LE(piece.value().removed, 256U);
    removed += piece.value().removed;
    more = piece.value().more;
    EXPECT_EQ(store->Sizes().events, events.size() + 1 - removed);
  }
  EXPECT_EQ(removed, events.size());
  EXPECT_GT(pieces, 2U);
  EXPECT_EQ(StoredIds(*store), std::vector{other.id});
  EXPECT_EQ(place->Difference(*store), "");
  ASSERT_TRUE(store->Save(events, 0, results).ok());
  EXPECT_EQ(results[0].outcome, SaveOutcome::kSaved) << "no mark is left";
}

}  // namespace
}  // namespace weir
