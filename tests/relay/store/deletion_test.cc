// Deletions (NIP-09): within one batch, and deletions that are too large for one write.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fixtures/plain_event.h"
#include "tests/relay/store/index_oracle.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class Deletion : public testing::Test {
 protected:
  // Saves events with this many tags each, and makes the deletion of them all.
  void SaveMany(int events, int tags) {
    std::vector<Tag> names;
    for (int i = 0; i < events; ++i) {
      std::vector<Tag> many;
      for (int t = 0; t < tags; ++t) many.push_back({"t", std::to_string(i) + "." + std::to_string(t)});
      targets_.push_back(Plain(Author(1), 10, 1, many, std::to_string(i)));
      names.push_back({"e", targets_.back().id});
    }
    SaveAll(*store_, targets_);
    deletion_ = Plain(Author(1), 20, 5, names);
  }
  void Reopen() {
    store_.reset();
    store_ = MustOpen(SmallStore(directory_ / "events"));
    ASSERT_NE(store_, nullptr);
  }
  // Saves one piece. Returns true if it was the last.
  bool DeletePiece(SaveResult* result) {
    const std::vector<Event> events{ToEvent(deletion_)};
    const Result<size_t> settled = store_->SaveSome(events, 0, kPiece, {result, 1});
    EXPECT_TRUE(settled.ok()) << settled.status().message();
    return settled.ok() && settled.value() == 1;
  }

  static constexpr Work kPiece = 100 * kEntryWork;
  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
  std::vector<PlainEvent> targets_;
  PlainEvent deletion_;
};

TEST_F(Deletion, DeletesVersionsOfAnAddressInTheSameBatch) {
  const PlainEvent deletion = Plain(Author(1), 20, 5, {{"a", "30023:" + Author(1) + ":x"}});
  const auto version = [](uint64_t at) { return Plain(Author(1), at, 30023, {{"d", "x"}}); };
  EXPECT_EQ(SaveAll(*store_, {deletion, version(19), version(20), version(21)}),
            (std::vector{SaveOutcome::kSaved, SaveOutcome::kDeleted, SaveOutcome::kDeleted, SaveOutcome::kSaved}));
}

TEST_F(Deletion, GoesInPiecesOfBoundedWork) {
  SaveMany(40, 50);
  SaveResult result;
  int pieces = 1;
  for (uint64_t before = 40; !DeletePiece(&result); ++pieces) {
    const uint64_t left = store_->Sizes().events;
    EXPECT_LE(before - left, 3U) << "of 50 entries each";
    EXPECT_LT(left, before);
    EXPECT_FALSE(store_->Has(ToBytes(deletion_.id)).value()) << "it is saved with its last part";
    if (pieces == 5) {
      EXPECT_EQ(IndexDifference(*store_), "");
    }
    before = left;
  }
  EXPECT_GE(pieces, 14);
  EXPECT_EQ(result.outcome, SaveOutcome::kSaved);
  EXPECT_GE(result.removal, 2'000 * kEntryWork);
  EXPECT_EQ(StoredIds(*store_), std::vector{deletion_.id});
  EXPECT_EQ(IndexDifference(*store_), "");
  EXPECT_EQ(SaveAll(*store_, {targets_[0], targets_[39], deletion_}),
            (std::vector{SaveOutcome::kDeleted, SaveOutcome::kDeleted, SaveOutcome::kDuplicate}));
}

TEST_F(Deletion, TargetsRemovedSoFarAreGoneForGood) {
  SaveMany(10, 50);
  SaveResult result;
  ASSERT_FALSE(DeletePiece(&result));
  EXPECT_FALSE(store_->Has(ToBytes(targets_[0].id)).value());
  EXPECT_EQ(SaveAll(*store_, {targets_[0]}), std::vector{SaveOutcome::kDeleted});
}

TEST_F(Deletion, ThatACrashCutShortIsDoneWhenItComesAgain) {
  SaveMany(10, 50);
  SaveResult lost;
  ASSERT_FALSE(DeletePiece(&lost));
  ASSERT_FALSE(DeletePiece(&lost));
  Reopen();
  EXPECT_EQ(IndexDifference(*store_), "");
  EXPECT_LT(store_->Sizes().events, 10U);
  EXPECT_EQ(SaveAll(*store_, {deletion_}), std::vector{SaveOutcome::kSaved});
  EXPECT_EQ(StoredIds(*store_), std::vector{deletion_.id});
  EXPECT_EQ(IndexDifference(*store_), "");
}

TEST_F(Deletion, IsWholeWhateverStoodInTheResultsBefore) {
  SaveMany(3, 1);
  std::vector<SaveResult> used{{.tags_done = 2}};
  ASSERT_TRUE(store_->Save(std::vector{ToEvent(deletion_)}, 0, used).ok());
  EXPECT_EQ(StoredIds(*store_), std::vector{deletion_.id});
}

TEST_F(Deletion, EventsBeforeItAreSavedAndEventsBehindItWait) {
  SaveMany(10, 50);
  const std::vector<Event> events{ToEvent(Plain(Author(2), 1, 1)), ToEvent(deletion_), ToEvent(Plain(Author(3), 1, 1))};
  std::vector<SaveResult> results(3);
  EXPECT_EQ(store_->SaveSome(events, 0, kPiece, results).value(), 1U);
  EXPECT_GT(results[0].serial.number, 0U);
  EXPECT_GT(results[1].tags_done, 0U);
  EXPECT_EQ(results[2].serial.number, 0U);
  EXPECT_TRUE(store_->Has(events[0].view().id()).value());
  EXPECT_FALSE(store_->Has(events[2].view().id()).value());
}

TEST_F(Deletion, AWriteEndsBeforeTheEventThatIsTooMuch) {
  SaveMany(0, 0);
  std::vector<Tag> tags(60, Tag{"t", ""});
  for (size_t i = 0; i < tags.size(); ++i) tags[i][1] = std::to_string(i);
  std::vector<Event> events;
  for (uint64_t i = 0; i < 5; ++i) events.push_back(ToEvent(Plain(Author(1), i, 1, tags)));
  std::vector<SaveResult> results(5);
  EXPECT_EQ(store_->SaveSome(events, 0, 150 * kEntryWork, results).value(), 2U);
  EXPECT_EQ(store_->SaveSome(std::span(events).subspan(2), 0, 1, std::span(results).subspan(2)).value(), 1U)
      << "one at least";
  EXPECT_EQ(store_->Sizes().events, 3U);
}

}  // namespace
}  // namespace weir
