#include <fstream>

#include "tests/relay/standing/standings_fixture.h"

namespace weir {
namespace {

class StandingsRestartTest : public StandingsFixture {
 protected:
  // Learns all stored events, which is what a relay without a snapshot does first.
  void GoOnToTheEnd() {
    for (int i = 0; i < 1'000 && standings_->Stats().learning; ++i) standings_->GoOn();
    ASSERT_FALSE(standings_->Stats().learning);
  }
};

TEST_F(StandingsRestartTest, StandingSurvives) {
  GoOnToTheEnd();
  Trust({1});
  for (int day = 0; day < 12; ++day) {
    Note(Note1(2));
    PassDays(1);
  }
  const AuthorRecord before = Record(2);
  EXPECT_EQ(RungOf(2), Rung::kRegular);
  Restart();
  EXPECT_EQ(Record(2), before);
  EXPECT_EQ(RungOf(1), Rung::kTrusted);
  EXPECT_FALSE(standings_->Stats().learning);
}

TEST_F(StandingsRestartTest, TheSnapshotIsWrittenEveryFewMinutes) {
  GoOnToTheEnd();
  EXPECT_EQ(standings_->Stats().snapshot_at_seconds, wall_.NowSeconds()) << "as soon as the events are learned";
  const uint64_t first = wall_.NowSeconds();
  Pass(std::chrono::minutes(4));
  standings_->GoOn();
  EXPECT_EQ(standings_->Stats().snapshot_at_seconds, first);
  Pass(std::chrono::minutes(1));
  standings_->GoOn();
  EXPECT_EQ(standings_->Stats().snapshot_at_seconds, wall_.NowSeconds());
}

TEST_F(StandingsRestartTest, ADamagedSnapshotBeginsAnewFromTheStoredEvents) {
  GoOnToTheEnd();
  StoreAndNote(Note1(2));
  Note(Note1(3));
  Restart();
  ASSERT_TRUE(standings_->Find(ToBytes(Author(3))));
  standings_.reset();
  std::ofstream(path_, std::ios::binary) << "weir standing 1\nbroken";
  Restart();
  EXPECT_FALSE(standings_->Find(ToBytes(Author(3))));
  GoOnToTheEnd();
  EXPECT_EQ(Record(2).accepted, 1U);
  Restart();
  EXPECT_EQ(Record(2).accepted, 1U) << "the snapshot that replaced it is good";
}

TEST_F(StandingsRestartTest, ASnapshotThatCannotBeReadOrWrittenIsNoCrash) {
  standings_.reset();
  std::filesystem::remove(path_);
  std::filesystem::create_directories(path_ + "/inner");
  Restart();
  GoOnToTheEnd();
  Note(Note1(2));
  standings_->Stop();
  EXPECT_EQ(standings_->Stats().snapshot_at_seconds, 0U);
}

// Events come in the order in which they are stored here, on three days.
TEST_F(StandingsRestartTest, LearnsWhenEventsCameNotWhatTheyClaim) {
  standings_.reset();
  std::filesystem::remove(path_);
  const uint64_t now = wall_.NowSeconds();
  const auto store = [&](uint64_t author, uint64_t days_ago, uint16_t kind) {
    Store(Plain(Author(author), now - days_ago * kDaySeconds, kind));
  };
  store(1, 40, 1);
  store(2, 500, 1);  // forged: it came after an event of 40 days ago
  store(1, 30, 6);
  store(3, 400, 1);  // forged, too
  store(2, 499, 6);
  store(1, 20, 7);
  Store(Plain(Author(4), now + kDaySeconds, 1));  // dated after the present
  Restart();
  GoOnToTheEnd();
  EXPECT_EQ(Record(1).first_seen, now - 40 * kDaySeconds);
  EXPECT_EQ(Record(1).active_days, 3);
  EXPECT_EQ(Record(1).accepted, 3U);
  EXPECT_EQ(Record(2).first_seen, now - 40 * kDaySeconds);
  EXPECT_EQ(Record(2).last_seen, now - 30 * kDaySeconds);
  EXPECT_EQ(Record(2).active_days, 2);
  EXPECT_EQ(Record(3).first_seen, now - 30 * kDaySeconds);
  EXPECT_FALSE(standings_->Find(ToBytes(Author(4))));
}

TEST_F(StandingsRestartTest, EventsThatComeWhileItLearnsCountOnce) {
  standings_.reset();
  std::filesystem::remove(path_);
  Store(Plain(Author(1), wall_.NowSeconds() - 2 * kDaySeconds, 1));
  Store(Plain(Author(1), wall_.NowSeconds(), 6));
  Restart();
  StoreAndNote(Plain(Author(1), wall_.NowSeconds(), 7));
  EXPECT_TRUE(standings_->Stats().learning);
  GoOnToTheEnd();
  EXPECT_EQ(Record(1).accepted, 3U);
  EXPECT_EQ(Record(1).active_days, 2) << "today counts once";
  EXPECT_EQ(Record(1).first_seen, wall_.NowSeconds() - 2 * kDaySeconds);
}

TEST_F(StandingsRestartTest, NoSnapshotIsWrittenBeforeAllIsLearned) {
  standings_.reset();
  std::filesystem::remove(path_);
  Restart();
  Note(Note1(1));
  standings_->Stop();
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the next start would believe that all is learned";
}

}  // namespace
}  // namespace weir
