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

}  // namespace
}  // namespace weir
