#include "relay/store/group_commit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string>

#include "config/manual_clock.h"
#include "tests/store/scripted_store.h"
#include "tests/store/store_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kStart = 1'700'000'000;

std::vector<PlainEvent> Notes(size_t count, const std::string& prefix = "note ") {
  std::vector<PlainEvent> notes;
  for (size_t i = 0; i < count; ++i) notes.push_back(Plain(Author(1), kStart, 1, {}, prefix + std::to_string(i)));
  return notes;
}

std::vector<std::string> IdsOf(const std::vector<PlainEvent>& events) {
  std::vector<std::string> ids;
  for (const PlainEvent& event : events) ids.push_back(event.id);
  return ids;
}

// What the commit told, in order.
class Told {
 public:
  GroupCommit::Done Listener() {
    return [this](std::span<SettledEvent> settled, const Status& status) {
      const std::lock_guard lock(mutex_);
      writes_.push_back({{}, status});
      for (const SettledEvent& s : settled) {
        writes_.back().ids.push_back(ToHex(s.submission.event.view().id()));
        outcomes_.push_back(s.result.outcome);
        ++count_;
      }
      changed_.notify_all();
    };
  }

  struct Write {
    std::vector<std::string> ids;
    Status status;
  };

  void WaitFor(size_t events) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= events; });
  }
  std::vector<Write> writes() {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  std::vector<std::string> ids() {
    std::vector<std::string> all;
    for (const Write& write : writes()) all.insert(all.end(), write.ids.begin(), write.ids.end());
    return all;
  }
  std::vector<SaveOutcome> outcomes() {
    const std::lock_guard lock(mutex_);
    return outcomes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Write> writes_;
  std::vector<SaveOutcome> outcomes_;
  size_t count_ = 0;
};

class GroupCommitTest : public testing::Test {
 protected:
  void Start(const GroupCommitLimits& limits = {}) {
    commit_ = std::make_unique<GroupCommit>(store_, told_.Listener(), limits, clock_);
  }
  void Submit(const std::vector<PlainEvent>& events) {
    std::vector<Submission> submissions;
    for (const PlainEvent& event : events) submissions.push_back({ToEvent(event), nullptr});
    commit_->Submit(submissions);
  }
  // The first write hangs, so that what follows waits together.
  void SubmitBehindAHangingWrite(const std::vector<PlainEvent>& events) {
    store_.HoldSaves();
    Submit(Notes(1, "first "));
    store_.WaitForSave();
    Submit(events);
  }
  std::vector<size_t> WriteSizes() {
    std::vector<size_t> sizes;
    for (const Told::Write& write : told_.writes()) sizes.push_back(write.ids.size());
    return sizes;
  }

  ManualWallClock clock_{kStart};
  ScriptedStore store_;
  Told told_;
  std::unique_ptr<GroupCommit> commit_;  // ends first
};

TEST_F(GroupCommitTest, OneThatComesAloneIsSavedAtOnce) {
  Start();
  Submit(Notes(1));
  told_.WaitFor(1);
  EXPECT_EQ(told_.ids(), IdsOf(Notes(1)));
  EXPECT_TRUE(told_.writes()[0].status.ok());
  EXPECT_EQ(told_.outcomes()[0], SaveOutcome::kSaved);
}

TEST_F(GroupCommitTest, WhatWaitsBehindAWriteIsTheNextWrite) {
  Start();
  SubmitBehindAHangingWrite(Notes(500));
  EXPECT_EQ(commit_->Stats().waiting, 500U);
  store_.LetSavesGo();
  told_.WaitFor(501);
  EXPECT_EQ(WriteSizes(), (std::vector<size_t>{1, 500}));
  EXPECT_EQ(told_.writes()[1].ids, IdsOf(Notes(500)));
  const GroupCommitStats stats = commit_->Stats();
  EXPECT_EQ(stats.writes, 2U);
  EXPECT_EQ(stats.events, 501U);
  EXPECT_EQ(stats.failed, 0U);
  EXPECT_EQ(stats.waiting, 0U);
}

TEST_F(GroupCommitTest, AWriteIsBoundedInEvents) {
  Start({.max_events = 10});
  SubmitBehindAHangingWrite(Notes(25));
  store_.LetSavesGo();
  told_.WaitFor(26);
  EXPECT_EQ(WriteSizes(), (std::vector<size_t>{1, 10, 10, 5}));
}

TEST_F(GroupCommitTest, AWriteIsBoundedInBytesAndALargerEventGoesAlone) {
  std::vector<PlainEvent> events = Notes(4, std::string(1000, 'x'));
  events.insert(events.begin() + 2, Plain(Author(1), kStart, 1, {}, std::string(10'000, 'y')));
  Start({.max_bytes = 4000});
  SubmitBehindAHangingWrite(events);
  store_.LetSavesGo();
  told_.WaitFor(6);
  EXPECT_EQ(WriteSizes(), (std::vector<size_t>{1, 2, 1, 2}));
  EXPECT_EQ(told_.ids().back(), events.back().id);
}

TEST_F(GroupCommitTest, AFailedWriteIsToldToAllOfItAndTheNextOneGoesOn) {
  Start();
  SubmitBehindAHangingWrite(Notes(3));
  store_.FailSaves("no space left on device");
  store_.LetSavesGo();
  told_.WaitFor(4);
  const std::vector<Told::Write> writes = told_.writes();
  EXPECT_EQ(writes.back().status.message(), "no space left on device");
  EXPECT_EQ(writes.back().ids, IdsOf(Notes(3)));
  EXPECT_GE(commit_->Stats().failed, 3U);

  store_.FailSaves("");
  Submit(Notes(1, "later "));
  told_.WaitFor(5);
  EXPECT_TRUE(told_.writes().back().status.ok());
}

TEST_F(GroupCommitTest, TicketsComeBackWithTheirEvents) {
  std::atomic<int> right = 0;
  commit_ = std::make_unique<GroupCommit>(store_, [&](std::span<SettledEvent> settled, const Status&) {
    for (const SettledEvent& s : settled) {
      const auto& expected = *static_cast<const std::string*>(s.submission.ticket.get());
      right += ToHex(s.submission.event.view().id()) == expected ? 1 : 0;
    }
  });
  std::weak_ptr<void> last;
  for (const PlainEvent& note : Notes(50)) {
    auto ticket = std::make_shared<std::string>(note.id);
    last = ticket;
    std::vector<Submission> submission{{ToEvent(note), std::move(ticket)}};
    commit_->Submit(submission);
  }
  commit_->Stop();
  EXPECT_EQ(right, 50);
  EXPECT_TRUE(last.expired()) << "a ticket was kept";
}

TEST_F(GroupCommitTest, StopSavesWhatWaits) {
  Start({.max_events = 7});
  SubmitBehindAHangingWrite(Notes(30));
  std::future<void> stopped = std::async(std::launch::async, [this] { commit_->Stop(); });
  store_.LetSavesGo();
  stopped.get();
  EXPECT_EQ(told_.ids().size(), 31U);
  EXPECT_EQ(store_.saved_ids(), told_.ids());
  commit_->Stop();
}

TEST_F(GroupCommitTest, WhatComesAfterStopIsGivenBack) {
  Start();
  commit_->Stop();
  Submit(Notes(2));
  ASSERT_EQ(told_.writes().size(), 1U);
  EXPECT_EQ(told_.writes()[0].status.message(), "shutting down");
  EXPECT_EQ(told_.writes()[0].ids, IdsOf(Notes(2)));
  EXPECT_EQ(commit_->Stats().failed, 2U);
  EXPECT_TRUE(store_.saved_ids().empty());
}

TEST_F(GroupCommitTest, NothingIsSubmittedByNothing) {
  Start();
  Submit({});
  commit_->Stop();
  EXPECT_TRUE(told_.writes().empty());
}

// Many threads: everything is told once, and what one thread submitted in its order.
TEST_F(GroupCommitTest, OrderHoldsForEachOfManyThreads) {
  constexpr size_t kThreads = 6;
  constexpr size_t kSpans = 60;
  constexpr size_t kSpan = 8;
  Start({.max_events = 50});
  std::map<std::string, std::pair<size_t, size_t>> place;  // of an id: thread and number
  std::vector<std::vector<Submission>> work(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    const std::vector<PlainEvent> notes = Notes(kSpans * kSpan, "thread " + std::to_string(t) + " ");
    for (size_t i = 0; i < notes.size(); ++i) {
      place[notes[i].id] = {t, i};
      work[t].push_back({ToEvent(notes[i]), nullptr});
    }
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kSpans; ++i) commit_->Submit(std::span(work[t]).subspan(i * kSpan, kSpan));
    });
  }
  for (std::thread& thread : threads) thread.join();
  commit_->Stop();

  const std::vector<std::string> ids = told_.ids();
  ASSERT_EQ(ids.size(), kThreads * kSpans * kSpan);
  EXPECT_EQ(store_.saved_ids(), ids);
  std::vector<size_t> next(kThreads, 0);
  for (const std::string& id : ids) {
    const auto [thread, number] = place.at(id);
    EXPECT_EQ(number, next[thread]++);
  }
}

TEST_F(GroupCommitTest, NothingIsSweptBeforeAMinuteHasPassed) {
  Start();
  clock_.Advance(59);
  Submit(Notes(1));
  commit_->Stop();
  EXPECT_EQ(store_.log(), "save 1");
}

TEST_F(GroupCommitTest, ExpiredEventsAreSweptOnceAMinute) {
  Start();
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, sweep");
  clock_.Advance(59);
  Submit(Notes(1));
  commit_->Stop();
  EXPECT_EQ(store_.log(), "save 1, sweep, save 1");
  EXPECT_EQ(commit_->Stats().sweeps, 1U);
}

TEST_F(GroupCommitTest, ALongSweepGoesInPiecesAndWritesGoBetween) {
  store_.SetExpired(1000);
  store_.HoldSweeps();
  Start();
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, sweep");
  Submit(Notes(5));
  store_.LetSweepsGo();
  store_.WaitForLog("save 1, sweep, save 5, sweep, sweep, sweep");
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().expired_removed, 1000U);
  EXPECT_EQ(commit_->Stats().sweeps, 1U);
}

TEST_F(GroupCommitTest, AFailedSweepIsCountedAndTriedAgainAMinuteLater) {
  Start();
  store_.FailSweeps("no space left on device");
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, sweep");
  store_.FailSweeps("");
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, sweep, save 1, sweep");
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().failed_sweeps, 1U);
  EXPECT_EQ(commit_->Stats().sweeps, 1U);
}

TEST_F(GroupCommitTest, AClockThatIsSetBackDoesNotPutSweepsOff) {
  Start();
  clock_.Set(kStart - 1'000'000);
  Submit(Notes(1));
  store_.WaitForLog("save 1, sweep");
}

TEST_F(GroupCommitTest, StopDoesNotWaitForTheEndOfASweep) {
  store_.SetExpired(1'000'000'000);
  Start();
  clock_.Advance(60);
  Submit(Notes(1));
  told_.WaitFor(1);
  commit_->Stop();
  EXPECT_EQ(commit_->Stats().sweeps, 0U);
}

TEST(GroupCommitOnDisk, SavesWhatManyThreadsBring) {
  constexpr size_t kThreads = 4;
  constexpr size_t kEach = 200;
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  Told told;
  {
    GroupCommit commit(*store, told.Listener());
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        // The same events from everyone: one of each is saved, the others are duplicates.
        for (const PlainEvent& note : Notes(kEach)) {
          std::vector<Submission> submission{{ToEvent(note), nullptr}};
          commit.Submit(submission);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const std::vector<SaveOutcome> outcomes = told.outcomes();
  EXPECT_EQ(std::ranges::count(outcomes, SaveOutcome::kSaved), kEach);
  EXPECT_EQ(std::ranges::count(outcomes, SaveOutcome::kDuplicate), kEach * (kThreads - 1));
  EXPECT_EQ(StoredIds(*store).size(), kEach);
}

TEST(GroupCommitOnDisk, RemovesWhatExpired) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 600; ++i)
    events.push_back(Plain(Author(1), kStart, 1, {{"expiration", std::to_string(kStart + 30)}}, std::to_string(i)));
  SaveAll(*store, events, kStart);
  ManualWallClock clock(kStart);
  Told told;
  GroupCommit commit(*store, told.Listener(), {}, clock);
  clock.Advance(60);
  std::vector<Submission> submission{{ToEvent(Notes(1)[0]), nullptr}};
  commit.Submit(submission);
  while (commit.Stats().sweeps == 0) std::this_thread::yield();
  EXPECT_EQ(commit.Stats().expired_removed, 600U);
  EXPECT_EQ(StoredIds(*store), IdsOf(Notes(1)));
}

}  // namespace
}  // namespace weir
