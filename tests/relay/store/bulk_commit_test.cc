// GroupCommit::SaveBulk: imports beside all other saves.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <list>
#include <set>
#include <string>
#include <thread>

#include "config/manual_clock.h"
#include "relay/store/group_commit.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/store/scripted_store.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kStart = 1'700'000'000;

std::vector<Event> Notes(size_t count, const std::string& prefix) {
  std::vector<Event> notes;
  for (size_t i = 0; i < count; ++i)
    notes.push_back(ToEvent(Plain(Author(1), kStart, 1, {}, prefix + std::to_string(i))));
  return notes;
}

class BulkCommit : public testing::Test {
 protected:
  struct Bulk {
    std::vector<Event> events;
    std::vector<SaveResult> results;
    std::future<Status> status;
  };

  void Start(const GroupCommitLimits& limits = {}) {
    commit_ = std::make_unique<GroupCommit>(
        store_, [this](GroupCommit::Submissions settled, const Status&) { told_ += settled.size(); }, limits, clock_);
    store_.WaitForLog("vanish, sweep");  // it looks for what is owed
    store_.ForgetLog();
  }
  void Submit(size_t count) {
    std::vector<std::shared_ptr<Submission>> submissions;
    for (const Event& event : Notes(count, "submitted " + std::to_string(++submitted_) + " "))
      submissions.push_back(std::make_shared<Submission>(event));
    commit_->Submit(submissions);
  }
  // Saves in another thread. With `while_busy` it returns when that waits in the line.
  Bulk& SaveBulk(size_t count, bool while_busy = true) {
    Bulk& bulk = bulks_.emplace_back();
    bulk.events = Notes(count, "bulk " + std::to_string(bulks_.size()) + " ");
    bulk.results.resize(count);
    const uint64_t before = commit_->Stats().bulk_waiting;
    bulk.status = std::async(std::launch::async, [&] { return commit_->SaveBulk(bulk.events, bulk.results); });
    EXPECT_TRUE(!while_busy || Eventually([&] { return commit_->Stats().bulk_waiting != before; }));
    return bulk;
  }

  ManualWallClock clock_{kStart};
  ScriptedStore store_;
  std::atomic<size_t> told_{0};
  int submitted_ = 0;
  std::list<Bulk> bulks_;
  std::unique_ptr<GroupCommit> commit_;
};

TEST_F(BulkCommit, IsSavedAtOnceIfNoOtherEventWaits) {
  Start();
  Bulk& bulk = SaveBulk(3, false);
  const Status status = bulk.status.get();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(bulk.results[2].serial.number, 3U);
  EXPECT_EQ(store_.log(), "save 3");
  EXPECT_EQ(told_, 0U) << "the caller is told, nobody else";
  const GroupCommitStats stats = commit_->Stats();
  EXPECT_EQ(stats.bulk_writes, 1U);
  EXPECT_EQ(stats.bulk_events, 3U);
  EXPECT_EQ(stats.bulk_waiting, 0U);
  EXPECT_EQ(stats.writes + stats.events, 0U);
}

TEST_F(BulkCommit, AnEmptyBatchIsNoWrite) {
  Start();
  EXPECT_TRUE(commit_->SaveBulk({}, {}).ok());
  commit_->Stop();
  EXPECT_EQ(store_.log(), "");
}

TEST_F(BulkCommit, CallersComeInTurnEachWithAWriteOfItsOwn) {
  Start();
  store_.HoldSaves();
  Submit(1);
  store_.WaitForSave();
  for (const size_t count : {5, 3, 4}) SaveBulk(count);
  EXPECT_EQ(commit_->Stats().bulk_waiting, 3U);
  store_.LetSavesGo();
  for (Bulk& bulk : bulks_) EXPECT_TRUE(bulk.status.get().ok());
  EXPECT_EQ(store_.log(), "save 1, save 5, save 3, save 4");
}

TEST_F(BulkCommit, OthersGoFirstButNotForEver) {
  Start({.max_events = 1});
  store_.HoldSaves();
  Submit(1);
  store_.WaitForSave();
  for (const size_t count : {50, 60, 70}) SaveBulk(count);
  Submit(9);
  store_.LetSavesGo();
  for (Bulk& bulk : bulks_) EXPECT_TRUE(bulk.status.get().ok());
  commit_->Stop();
  EXPECT_EQ(store_.log(),
            "save 1, save 1, save 1, save 1, save 50, save 1, save 1, save 1, save 1, save 60, "
            "save 1, save 1, save 70");
  EXPECT_EQ(told_, 10U);
}

TEST_F(BulkCommit, AFailureIsToldToItsCallerAlone) {
  Start();
  store_.FailSaves("no space left on device");
  EXPECT_EQ(SaveBulk(2, false).status.get().message(), "no space left on device");
  store_.FailSaves("");
  EXPECT_TRUE(SaveBulk(2, false).status.get().ok());
  EXPECT_EQ(told_, 0U);
  EXPECT_EQ(commit_->Stats().bulk_writes, 1U);
  EXPECT_EQ(commit_->Stats().bulk_events, 2U);
  EXPECT_EQ(commit_->Stats().failed_bulk_writes, 1U);
}

TEST_F(BulkCommit, EventsWrittenBeforeAFailureAreSettled) {
  Start();
  store_.HoldSaves();
  Submit(1);
  store_.WaitForSave();
  Bulk& bulk = SaveBulk(3);
  store_.FailSavesFrom(ToHex(bulk.events[2].view().id()));
  store_.LetSavesGo();
  EXPECT_EQ(bulk.status.get().message(), "a damaged block");
  EXPECT_TRUE(bulk.results[0].settled && bulk.results[1].settled);
  EXPECT_FALSE(bulk.results[2].settled);
  EXPECT_EQ(commit_->Stats().bulk_events, 2U);
}

TEST_F(BulkCommit, StopRefusesWhatWaitsAndSavesWhatWasSubmitted) {
  Start();
  store_.HoldSaves();
  Bulk& under_way = SaveBulk(2, false);
  store_.WaitForSave();
  Submit(3);
  Bulk& waiting = SaveBulk(4);
  std::future<void> stopped = std::async(std::launch::async, [this] { commit_->Stop(); });
  EXPECT_EQ(waiting.status.get().message(), "shutting down") << "at once, whatever the disk does";
  store_.LetSavesGo();
  EXPECT_TRUE(under_way.status.get().ok());
  stopped.get();
  EXPECT_EQ(store_.log(), "save 2, save 3");
  EXPECT_EQ(told_, 3U);
  EXPECT_EQ(SaveBulk(1, false).status.get().message(), "shutting down");
}

TEST_F(BulkCommit, ALongSaveGoesInPiecesBetweenTheWritesOfOthers) {
  Start();
  store_.HoldSaves();
  Submit(1);
  store_.WaitForSave();
  Bulk& bulk = SaveBulk(3);
  store_.SaveInPieces(ToHex(bulk.events[1].view().id()), 2);
  store_.LetSavesGo();
  EXPECT_TRUE(bulk.status.get().ok());
  EXPECT_EQ(store_.log(), "save 1, save 3, save 2");
  EXPECT_EQ(bulk.results[2].serial.number, 4U);
  EXPECT_EQ(commit_->Stats().bulk_writes, 1U);
  EXPECT_EQ(commit_->Stats().bulk_events, 3U);
}

TEST_F(BulkCommit, AFaultIsAnErrorAndTheThreadGoesOn) {
  Start();
  store_.ThrowInSaves(true);
  EXPECT_FALSE(SaveBulk(2, false).status.get().ok());
  store_.ThrowInSaves(false);
  EXPECT_TRUE(SaveBulk(2, false).status.get().ok());
}

TEST_F(BulkCommit, SweepsGoOn) {
  Start();
  store_.SetExpired(300);
  clock_.Advance(60);
  EXPECT_TRUE(SaveBulk(2, false).status.get().ok());
  store_.WaitForLog("save 2, vanish, sweep, sweep");
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().expired_removed, 300U);
}

TEST_F(BulkCommit, ManyCallersBesideManySubmitters) {
  constexpr size_t kThreads = 3;
  constexpr size_t kRounds = 50;
  Start({.max_events = 4});
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (size_t i = 0; i < kRounds; ++i) {
        const auto events = Notes(5, "b" + std::to_string(t) + " " + std::to_string(i) + " ");
        std::vector<SaveResult> results(events.size());
        EXPECT_TRUE(commit_->SaveBulk(events, results).ok());
        EXPECT_TRUE(std::ranges::all_of(results, [](const SaveResult& result) { return result.serial.number > 0; }));
      }
    });
    threads.emplace_back([this, t] {
      for (size_t i = 0; i < kRounds; ++i) {
        std::vector<std::shared_ptr<Submission>> submissions;
        for (const Event& event : Notes(3, "s" + std::to_string(t) + " " + std::to_string(i) + " "))
          submissions.push_back(std::make_shared<Submission>(event));
        commit_->Submit(submissions);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  commit_->Stop();
  const std::vector<std::string> ids = store_.saved_ids();
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), kThreads * kRounds * 8);
  EXPECT_EQ(ids.size(), kThreads * kRounds * 8);
  EXPECT_EQ(told_, kThreads * kRounds * 3);
  EXPECT_EQ(commit_->Stats().bulk_events, kThreads * kRounds * 5);
}

}  // namespace
}  // namespace weir
