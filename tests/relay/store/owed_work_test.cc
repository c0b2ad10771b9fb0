// Work that the group commit does for the store between the writes: removing events that are to vanish or expired.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "tests/fixtures/eventually.h"
#include "tests/relay/store/group_commit_fixture.h"

namespace weir {
namespace {

using OwedWorkTest = GroupCommitTest;

TEST_F(OwedWorkTest, NoSweepBeginsBeforeAMinuteHasPassed) {
  Start();
  clock_.Advance(59);
  Submit(Notes(1));
  commit_->Stop();
  EXPECT_EQ(store_.log(), "save 1");
}

TEST_F(OwedWorkTest, ExpiredEventsAreSweptOnceAMinute) {
  Start();
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep");
  clock_.Advance(59);
  Submit(Notes(1));
  commit_->Stop();
  EXPECT_EQ(store_.log(), "save 1, vanish, sweep, save 1");
  EXPECT_EQ(commit_->Stats().sweeps, 2U);
}

TEST_F(OwedWorkTest, ALongSweepGoesInPiecesAndWritesGoBetween) {
  Start();
  store_.SetExpired(1000);
  store_.HoldSweeps();
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish");
  Submit(Notes(5));
  store_.LetSweepsGo();
  store_.WaitForLog("save 1, vanish, save 5, sweep, sweep, sweep, sweep");
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().expired_removed, 1000U);
  EXPECT_EQ(commit_->Stats().sweeps, 2U);
}

TEST_F(OwedWorkTest, ASmallAuthorHasVanishedBeforeTheAnswer) {
  Start();
  store_.SaveRequestsToVanish();
  store_.HoldSweeps();
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish");
  EXPECT_TRUE(told_.ids().empty());
  store_.LetSweepsGo();
  told_.WaitFor(1);
}

TEST_F(OwedWorkTest, AFailedSweepIsCountedAndTriedAgainAMinuteLater) {
  Start();
  store_.FailSweeps("no space left on device");
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep");
  store_.FailSweeps("");
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep, save 1, vanish, sweep");
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().failed_sweeps, 1U);
  EXPECT_EQ(commit_->Stats().sweeps, 2U);
}

TEST_F(OwedWorkTest, AnIndexOfWordsThatCannotBeBuiltIsTriedAgainAndIsNoSweep) {
  store_.FailSearch("a damaged block");
  Start();
  EXPECT_TRUE(Eventually([this] { return store_.search_pieces() == 1; }));
  clock_.Advance(60);
  Submit(Notes(1));
  EXPECT_TRUE(Eventually([this] { return store_.search_pieces() == 2; }));
  commit_->Stop();
  EXPECT_EQ(store_.log(), "save 1, vanish, sweep");
  EXPECT_EQ(commit_->Stats().failed_sweeps, 0U);
  EXPECT_EQ(commit_->Stats().sweeps, 2U);
}

TEST_F(OwedWorkTest, AFailureToVanishDoesNotKeepBackExpiry) {
  Start();
  store_.SetExpired(1000);
  store_.FailVanishing("a damaged block");
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep, sweep, sweep, sweep");
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().expired_removed, 1000U);
  EXPECT_EQ(commit_->Stats().failed_sweeps, 1U);
  EXPECT_EQ(commit_->Stats().sweeps, 1U) << "the one at the start";
}

TEST_F(OwedWorkTest, ASweepIsDoneOnlyIfBothKindsOfRemovalsSucceed) {
  Start();
  uint64_t done = 1;  // the one at the start
  for (const auto& [vanishing_fails, expiry_fails] :
       {std::pair(true, false), {false, true}, {true, true}, {false, false}, {true, false}, {false, false}}) {
    store_.FailVanishing(vanishing_fails ? "a damaged block" : "");
    store_.FailSweeps(expiry_fails ? "a damaged block" : "");
    store_.ForgetLog();
    clock_.Advance(60);
    Submit(Notes(1));
    store_.WaitForLog("save 1, vanish, sweep");
    if (!vanishing_fails && !expiry_fails) ++done;
  }
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().sweeps, done);
}

TEST_F(OwedWorkTest, AClockThatIsSetBackDoesNotPutSweepsOff) {
  Start();
  clock_.Set(kStart - 1'000'000);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep");
}

// Removed events are gone for good.
TEST_F(OwedWorkTest, AClockThatIsSetAheadExpiresNothingUntilItHasStayedSo) {
  constexpr uint64_t kYear = 365ULL * 86'400;
  Start();
  const auto expires_by = [this](uint64_t wall, int minutes_later) {
    steady_.Advance(std::chrono::minutes(minutes_later));
    clock_.Set(wall);
    store_.ForgetLog();
    Submit(Notes(1));
    store_.WaitForLog("save 1, vanish, sweep");
    return store_.expired_by();
  };
  constexpr uint64_t kMinute = 60;
  EXPECT_EQ(expires_by(kStart + kMinute, 1), kStart + kMinute);
  EXPECT_EQ(expires_by(kStart + kYear, 1), kStart + 2 * kMinute);
  EXPECT_EQ(expires_by(kStart + 3 * kMinute, 1), kStart + 3 * kMinute) << "it was right again";
  EXPECT_EQ(expires_by(kStart + 11 * kMinute + kYear, 8), kStart + 11 * kMinute);
  EXPECT_EQ(expires_by(kStart + 20 * kMinute + kYear, 9), kStart + 20 * kMinute);
  EXPECT_EQ(expires_by(kStart + 21 * kMinute + kYear, 1), kStart + 21 * kMinute + kYear) << "for ten minutes";
  EXPECT_EQ(expires_by(kStart + 22 * kMinute, 1), kStart + 22 * kMinute) << "set back";
}

TEST_F(OwedWorkTest, SavesGoByTheClockOfTheSweeps) {
  Start();
  steady_.Advance(std::chrono::minutes(1));
  clock_.Set(kStart + 365ULL * 86'400);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep");
  EXPECT_EQ(store_.saved_by(), kStart + 60);
  EXPECT_EQ(store_.expired_by(), kStart + 60);
  const std::vector<Event> events = {ToEvent(Notes(1, "bulk ")[0])};
  std::vector<SaveResult> results(1);
  EXPECT_TRUE(commit_->SaveBulk(events, results).ok());
  EXPECT_EQ(store_.saved_by(), kStart + 60);
}

TEST_F(OwedWorkTest, StopDoesNotWaitForTheEndOfASweep) {
  Start();
  store_.SetExpired(1'000'000'000);
  clock_.Advance(60);
  Submit(Notes(1));
  told_.WaitFor(1);
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().sweeps, 1U) << "the one at the start";
}

TEST(OwedWorkOnDisk, AnOlderVersionReplacesNoneByAWrongClock) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  const PlainEvent newer = Plain(Author(1), kStart, 0, {{"expiration", std::to_string(kStart + 86'400)}});
  SaveAll(*store, {newer}, kStart);
  ManualWallClock clock(kStart);
  const ManualClock steady;
  Told told;
  GroupCommit commit(*store, told.Listener(), {}, clock, {}, steady);
  clock.Set(kStart + 365ULL * 86'400);
  commit.Submit(SubmissionsOf(std::vector{Plain(Author(1), kStart - 1, 0)}));
  told.WaitFor(1);
  EXPECT_EQ(told.outcomes()[0], SaveOutcome::kSuperseded);
  EXPECT_EQ(StoredIds(*store), std::vector{newer.id});
}

TEST(OwedWorkOnDisk, RemovesWhatExpired) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 600; ++i)
    events.push_back(Plain(Author(1), kStart, 1, {{"expiration", std::to_string(kStart + 30)}}, std::to_string(i)));
  SaveAll(*store, events, kStart);
  ManualWallClock clock(kStart);
  ManualClock steady;
  Told told;
  GroupCommit commit(*store, told.Listener(), {}, clock, {}, steady);
  steady.Advance(std::chrono::seconds(60));
  clock.Advance(60);
  commit.Submit(SubmissionsOf(Notes(1)));
  ASSERT_TRUE(Eventually([&] { return commit.Stats().expired_removed >= 600; }));
  EXPECT_EQ(StoredIds(*store), IdsOf(Notes(1)));
}

TEST_F(OwedWorkTest, AnErrandIsDoneOnTheCommitThread) {
  Start();
  HangInAWrite();
  std::thread::id done_on;
  store_.WhenSaving([&](bool) { done_on = std::this_thread::get_id(); });
  std::atomic<bool> asked = false;
  std::thread::id errand_on;
  std::thread caller([&] {
    asked = true;
    const Status status = commit_->Perform([&] {
      errand_on = std::this_thread::get_id();
      return Status::Error("as the store says");
    });
    EXPECT_EQ(status.message(), "as the store says");
  });
  EXPECT_TRUE(Eventually([&] { return asked.load(); }));
  Submit(Notes(1));
  store_.LetSavesGo();
  caller.join();
  told_.WaitFor(2);
  EXPECT_EQ(errand_on, done_on);
}

TEST_F(OwedWorkTest, ErrandsThatBeganAreDoneAndLaterOnesRefused) {
  Start();
  EXPECT_EQ(commit_->Perform([]() -> Status { throw std::bad_alloc(); }).message(), "a fault: std::bad_alloc");
  EXPECT_TRUE(commit_->Perform([] { return Status(); }).ok());
  commit_->Stop();
  EXPECT_EQ(commit_->Perform([] { return Status(); }).message(), "shutting down");
}

TEST_F(OwedWorkTest, OtherRemovalsGoOnInPiecesUntilThereAreNoMore) {
  Start();
  std::atomic<int> left = 3;
  commit_->RemoveAlso([&](Work) { return Result<OwedPiece>(OwedPiece{.removed = 1, .more = --left > 0}); });
  EXPECT_TRUE(Eventually([&] { return left == 0; }));
  Submit(Notes(1));
  told_.WaitFor(1);
  EXPECT_EQ(left, 0) << "there is no more";
  left = 2;
  EXPECT_TRUE(commit_->Perform([] { return Status(); }).ok());
  EXPECT_TRUE(Eventually([&] { return left == 0; })) << "an errand may have begun a removal";
  commit_->RemoveAlso({});
  left = 1;
  EXPECT_TRUE(commit_->Perform([] { return Status(); }).ok());
  EXPECT_TRUE(commit_->Perform([] { return Status(); }).ok());
  EXPECT_EQ(left, 1);
}

TEST_F(OwedWorkTest, OtherRemovalsThatFailAreTriedAgainAfterAMinute) {
  Start();
  std::atomic<bool> fails = true;
  std::atomic<int> calls = 0;
  commit_->RemoveAlso([&](Work) -> Result<OwedPiece> {
    ++calls;
    return fails ? Result<OwedPiece>(Status::Error("a damaged block")) : OwedPiece();
  });
  EXPECT_TRUE(Eventually([&] { return calls == 1; }));
  fails = false;
  clock_.Advance(60);
  Submit(Notes(1));
  EXPECT_TRUE(Eventually([&] { return calls == 2; }));
}

}  // namespace
}  // namespace weir
