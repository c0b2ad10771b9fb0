#include "relay/standing/standings.h"

#include <numeric>

#include "tests/fixtures/eventually.h"
#include "tests/relay/standing/standings_fixture.h"

namespace weir {
namespace {

class StandingsTest : public StandingsFixture {};

TEST_F(StandingsTest, AnAuthorClimbsByDaysNotByEvents) {
  EXPECT_EQ(RungOf(1), Rung::kStranger);
  for (int i = 0; i < 500; ++i) Note(Note1(1));
  EXPECT_EQ(RungOf(1), Rung::kStranger);
  for (int day = 2; day <= 10; ++day) {
    PassDays(1);
    Note(Note1(1));
    EXPECT_EQ(RungOf(1) >= Rung::kNewcomer, day >= 2) << day;
    EXPECT_EQ(RungOf(1) >= Rung::kRegular, day >= 9) << day;
  }
  EXPECT_EQ(Record(1).accepted, 509U);
  EXPECT_EQ(Record(1).first_seen, 20'000 * kDaySeconds);
  EXPECT_EQ(Record(1).last_seen, 20'009 * kDaySeconds);
}

// Eight of them a day gain a day; so after thirty days three times eight have the ten days of a regular.
TEST_F(StandingsTest, AThousandKeysOfAnAddressClimbAsAFewDo) {
  constexpr uint64_t kKeys = 1'000;
  std::vector<PlainEvent> lists;
  for (uint64_t key = 0; key < kKeys; ++key) lists.push_back(Follows(key, {(key + 1) % kKeys, (key + 2) % kKeys}));
  for (const PlainEvent& list : lists) Store(list);
  std::vector<Event> events;
  for (const PlainEvent& list : lists) events.push_back(ToEvent(list));
  const auto above_strangers = [&] {
    uint64_t count = 0;
    for (uint64_t key = 0; key < kKeys; ++key) count += RungOf(key) > Rung::kStranger ? 1 : 0;
    return count;
  };
  for (int hour = 0; hour < 24; ++hour) {
    for (const Event& event : events) standings_->NoteAccepted(event.view(), 7, true);
    standings_->GoOn();
    EXPECT_EQ(above_strangers(), 0U) << hour;
    Pass(std::chrono::hours(1) - std::chrono::seconds(1));
  }
  for (int day = 1; day < 30; ++day) {
    for (const Event& event : events) standings_->NoteAccepted(event.view(), 7, true);
    PassDays(1);
  }
  EXPECT_GT(above_strangers(), 0U);
  EXPECT_LE(above_strangers(), 64U);
}

TEST_F(StandingsTest, ADayCountsForAFewAuthorsOfAnAddress) {
  constexpr uint64_t kFew = Standings::kAuthorsOfAnAddressEachDay;
  for (uint64_t author = 0; author < 2 * kFew; ++author) {
    for (int i = 0; i < 3; ++i) Note(Note1(author), 1);
    EXPECT_EQ(Record(author).active_days, author < kFew ? 1 : 0) << author;
  }
  Note(Note1(2 * kFew - 1), 2);
  EXPECT_EQ(Record(2 * kFew - 1).active_days, 1) << "at another address its day counts";
  Trust({100});
  Note(Note1(100), 1);
  EXPECT_EQ(Record(100).active_days, 1) << "trusted authors take no place";
}

TEST_F(StandingsTest, NotesWhatAnEventTells) {
  std::string record = *ToEvent(Plain(Author(1), wall_.NowSeconds(), 1, {{"nonce", "1", "20"}})).record();
  Note(Note1(1));
  EXPECT_EQ(Record(1).work_bits, 0);
  std::fill_n(record.begin(), 3, '\0');  // the id, with more than 20 zero bits
  standings_->NoteAccepted(EventView(record), 1, true);
  EXPECT_EQ(Record(1).work_bits, 20);
  EXPECT_TRUE(Record(1).proved);
  Note(Plain(Author(1), wall_.NowSeconds(), 5, {{"e", Author(8)}, {"a", "30023:" + Author(1) + ":x"}, {"k", "1"}}));
  EXPECT_EQ(Record(1).deleted, 2U);
  EXPECT_EQ(Record(1).accepted, 3U);
}

TEST_F(StandingsTest, TheOwnListIsTrustedAtOnceAndItsFollowsSoon) {
  Store(Follows(1, {2}));
  Store(Follows(2, {3}));
  Store(Follows(3, {4}));
  standings_->GoOn();
  EXPECT_EQ(RungOf(1), Rung::kStranger);
  Trust({1});
  EXPECT_EQ(RungOf(1), Rung::kTrusted);
  Pass(std::chrono::seconds(30));
  standings_->GoOn();
  EXPECT_EQ(RungOf(2), Rung::kTrusted);
  EXPECT_EQ(RungOf(3), Rung::kNewcomer);
  EXPECT_EQ(RungOf(4), Rung::kStranger);
  EXPECT_EQ(standings_->Stats().follow_lists, 2U);
  EXPECT_EQ(standings_->Stats().follows_at_seconds, wall_.NowSeconds());
  Trust({4});
  Pass(std::chrono::seconds(30));
  standings_->GoOn();
  for (const uint64_t author : {1, 2, 3}) EXPECT_EQ(RungOf(author), Rung::kStranger) << author;
  EXPECT_EQ(RungOf(4), Rung::kTrusted);
}

TEST_F(StandingsTest, OnlyAListThatCountsIsReadAgainBeforeItsTime) {
  Trust({1});
  Store(Follows(1, {2}));
  standings_->GoOn();
  Pass(std::chrono::seconds(31));
  StoreAndNote(Follows(2, {3}));
  StoreAndNote(Follows(9, {10}));
  standings_->GoOn();
  EXPECT_EQ(Record(3).follow_steps, 3);
  StoreAndNote(Follows(3, {4}));
  Store(Follows(1, {2, 5}));  // by an import, which is not noted
  Pass(std::chrono::minutes(9));
  standings_->GoOn();
  EXPECT_EQ(Record(5).follow_steps, 0);
  Pass(std::chrono::minutes(1));
  standings_->GoOn();
  EXPECT_EQ(Record(5).follow_steps, 2);
}

// The table has room for two authors in a shard. The follows have one of them.
TEST_F(StandingsTest, NewFollowsTakeThePlacesOfFormerOnes) {
  settings_.authors = 2 * AuthorTable::kShards;
  Restart();
  const auto follow = [this](uint64_t first) {
    std::vector<uint64_t> keys(1'000);  // each shard gets some of them
    std::iota(keys.begin(), keys.end(), first);
    Store(Follows(1, keys));
    standings_->GoOn();
  };
  Trust({1});
  follow(10'000);
  for (int day = 0; day < 14; ++day, PassDays(1))
    for (uint64_t author = 1'000; author < 1'100; ++author) Note(Note1(author), author);
  std::vector<uint64_t> regulars;
  for (uint64_t author = 1'000; author < 1'100; ++author)
    if (RungOf(author) == Rung::kRegular) regulars.push_back(author);
  ASSERT_GT(regulars.size(), 10U);
  follow(20'000);
  for (const uint64_t author : regulars) EXPECT_EQ(RungOf(author), Rung::kRegular) << author;
}

TEST_F(StandingsTest, OnlyAuthorsWhoStandHighCanReport) {
  Trust({1});
  Store(Follows(1, {11, 12, 13}));
  standings_->GoOn();
  Note(Note1(5));
  for (uint64_t stranger = 21; stranger < 30; ++stranger) StoreAndNote(Report(stranger, 5));
  standings_->GoOn();
  EXPECT_EQ(Record(5).reported, 0);
  for (const char* text : {"spam", "spam!", "spam!!"}) StoreAndNote(Report(11, 5, text));
  standings_->GoOn();
  EXPECT_EQ(Record(5).reported, 1) << "each reporter counts once";
  EXPECT_EQ(RungOf(5), Rung::kStranger);
  StoreAndNote(Report(12, 5));
  StoreAndNote(Report(13, 5));
  StoreAndNote(Report(13, 13));
  standings_->GoOn();
  EXPECT_EQ(RungOf(5), Rung::kReported);
  EXPECT_EQ(Record(13).reported, 0) << "a report about oneself is none";
  PassDays(91);
  standings_->GoOn();
  EXPECT_EQ(Record(5).reported, 0) << "old reports count no more";
}

TEST_F(StandingsTest, CountsTheAuthorsOfEachRung) {
  Trust({1});
  for (uint64_t author = 10; author < 15; ++author) Note(Note1(author));
  const StandingsStats stats = standings_->Stats();
  EXPECT_EQ(stats.authors[static_cast<size_t>(Rung::kTrusted)], 1U);
  EXPECT_EQ(stats.authors[static_cast<size_t>(Rung::kStranger)], 5U);
  EXPECT_GT(stats.bytes, 6 * sizeof(AuthorRecord));
  Note(Note1(15));
  EXPECT_EQ(standings_->Stats().authors, stats.authors) << "the table was walked through just now";
  Pass(std::chrono::seconds(5));
  EXPECT_EQ(standings_->Stats().authors[static_cast<size_t>(Rung::kStranger)], 6U);
}

TEST_F(StandingsTest, TheThreadFindsFollowsUntilStop) {
  Trust({1});
  Store(Follows(1, {2}));
  standings_->Start();
  EXPECT_TRUE(Eventually([this] { return RungOf(2) == Rung::kTrusted; }));
  EXPECT_TRUE(Eventually([this] { return !standings_->Stats().learning; }));
  standings_->Stop();
  Restart();
  EXPECT_EQ(RungOf(2), Rung::kTrusted);
}

TEST_F(StandingsTest, StopEndsTheWaitForAdmission) {
  std::atomic<int> asked = 0;
  Restart([&asked](Cost) {
    ++asked;
    return Admission(Admission::Answer{.state = Admission::State::kRefused});
  });
  Trust({1});
  standings_->Start();
  EXPECT_TRUE(Eventually([&asked] { return asked > 0; }));
  standings_->Stop();
  EXPECT_EQ(standings_->Stats().follows_at_seconds, 0U);
}

}  // namespace
}  // namespace weir
