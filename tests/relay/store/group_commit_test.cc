#include "relay/store/group_commit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "tests/relay/store/group_commit_fixture.h"

namespace weir {
namespace {

TEST_F(GroupCommitTest, ALoneEventIsSavedAtOnce) {
  Start();
  Submit(Notes(1));
  told_.WaitFor(1);
  EXPECT_EQ(told_.ids(), IdsOf(Notes(1)));
  EXPECT_TRUE(told_.writes()[0].status.ok());
  EXPECT_EQ(told_.outcomes()[0], SaveOutcome::kSaved);
}

TEST_F(GroupCommitTest, EventsThatWaitBehindAWriteAreTheNextWrite) {
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

TEST_F(GroupCommitTest, ReturnsEachSubmissionWithItsEvent) {
  struct Named final : Submission {
    explicit Named(const PlainEvent& note) : Submission(ToEvent(note)), id(note.id) {}
    const std::string id;
  };
  std::atomic<int> right = 0;
  commit_ = std::make_unique<GroupCommit>(store_, [&](GroupCommit::Submissions settled, const Status&) {
    for (const auto& submission : settled)
      right += ToHex(submission->event.view().id()) == static_cast<const Named&>(*submission).id ? 1 : 0;
  });
  std::weak_ptr<Submission> last;
  for (const PlainEvent& note : Notes(50)) {
    const std::vector<std::shared_ptr<Submission>> submissions{std::make_shared<Named>(note)};
    last = submissions[0];
    commit_->Submit(submissions);
  }
  commit_->Stop();
  EXPECT_EQ(right, 50);
  EXPECT_TRUE(last.expired()) << "a submission was kept";
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

TEST_F(GroupCommitTest, GivesBackEventsThatComeAfterStop) {
  Start();
  commit_->Stop();
  Submit(Notes(2));
  ASSERT_EQ(told_.writes().size(), 1U);
  EXPECT_EQ(told_.writes()[0].status.message(), "shutting down");
  EXPECT_EQ(told_.writes()[0].ids, IdsOf(Notes(2)));
  EXPECT_EQ(commit_->Stats().failed, 2U);
  EXPECT_TRUE(store_.saved_ids().empty());
}

TEST_F(GroupCommitTest, AnEmptySubmissionIsNoWrite) {
  Start();
  Submit({});
  commit_->Stop();
  EXPECT_TRUE(told_.writes().empty());
}

// Many threads: everything is reported once, and the submissions of one thread in their order.
TEST_F(GroupCommitTest, OrderHoldsForEachOfManyThreads) {
  constexpr size_t kThreads = 6;
  constexpr size_t kSpans = 60;
  constexpr size_t kSpan = 8;
  Start({.max_events = 50});
  std::map<std::string, std::pair<size_t, size_t>> place;  // by id: thread and number
  std::vector<std::vector<std::shared_ptr<Submission>>> work(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    const std::vector<PlainEvent> notes = Notes(kSpans * kSpan, "thread " + std::to_string(t) + " ");
    for (size_t i = 0; i < notes.size(); ++i) place[notes[i].id] = {t, i};
    work[t] = SubmissionsOf(notes);
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kSpans; ++i) commit_->Submit(GroupCommit::Submissions(work[t]).subspan(i * kSpan, kSpan));
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

TEST_F(GroupCommitTest, AddressesTakeTurnsThenTheirConnections) {
  Start({.max_events = 3});
  HangInAWrite();
  const auto flood = Notes(8, "flood ");
  const auto others = Notes(2, "other ");
  for (uint64_t connection = 0; connection < 4; ++connection)
    SubmitAs({.id = 10 + connection, .group = 1}, {flood[2 * connection], flood[2 * connection + 1]});
  SubmitAs({.id = 20, .group = 2}, others);
  store_.LetSavesGo();
  told_.WaitFor(11);
  std::vector<std::string> ids = told_.ids();
  ids.erase(ids.begin());
  EXPECT_EQ(ids, IdsOf({flood[0], others[0], flood[2], others[1], flood[4], flood[6], flood[1], flood[3], flood[5],
                        flood[7]}));
}

// It once waited for an event of each of the others, which took many writes.
TEST_F(GroupCommitTest, ASmallSubmissionIsInTheNextWriteDespiteManyLargeOnes) {
  Start();
  HangInAWrite();
  for (uint64_t address = 1; address <= 100; ++address)
    SubmitAs({.id = address, .group = address}, Notes(2, "much " + std::to_string(address)), kTurnWork);
  const auto little = Notes(1, "little ");
  SubmitAs({.id = 200, .group = 200}, little, 10 * kEntryWork);
  store_.LetSavesGo();
  told_.WaitFor(202);
  EXPECT_EQ(told_.writes()[1].ids.front(), little[0].id);
}

TEST_F(GroupCommitTest, ChargesRemovalsForAnEventToItsAddress) {
  Start({.max_events = 1});
  HangInAWrite();
  const auto replacing = Notes(2, "replacing ");
  const auto plain = Notes(6, "plain ");
  store_.RemoveFor(replacing[0].id, 4 * kEntryWork);
  SubmitAs({.id = 1, .group = 1}, replacing, kEntryWork);
  SubmitAs({.id = 2, .group = 2}, plain, kEntryWork);
  store_.LetSavesGo();
  told_.WaitFor(9);
  std::vector<std::string> ids = told_.ids();
  EXPECT_EQ(std::ranges::find(ids, replacing[1].id) - std::ranges::find(ids, replacing[0].id), 6)
      << "after five of the others";
}

TEST_F(GroupCommitTest, AWriteIsBoundedInWork) {
  Start({.max_work = 10 * kEntryWork});
  HangInAWrite();
  SubmitAs({}, Notes(4), 4 * kEntryWork);
  SubmitAs({}, Notes(1, "large "), 50 * kEntryWork);
  SubmitAs({}, Notes(1, "last "), kEntryWork);
  store_.LetSavesGo();
  told_.WaitFor(7);
  EXPECT_EQ(WriteSizes(), (std::vector<size_t>{1, 2, 2, 1, 1}));
}

TEST_F(GroupCommitTest, AnEventOfSeveralWritesLetsOthersPassAndKeepsItsPlace) {
  Start();
  HangInAWrite();
  const auto own = Notes(3, "own ");
  const auto others = Notes(1, "other ");
  store_.SaveInPieces(own[0].id, 3);
  SubmitAs({.id = 1, .group = 1}, own);
  SubmitAs({.id = 2, .group = 2}, others);
  store_.LetSavesGo();
  told_.WaitFor(5);
  std::vector<std::string> ids = told_.ids();
  ids.erase(ids.begin());
  EXPECT_EQ(ids, IdsOf({others[0], own[0], own[1], own[2]}));
  EXPECT_EQ(store_.log(), "save 1, save 4, save 4, save 3");
  EXPECT_EQ(commit_->Stats().waiting, 0U);
}

TEST_F(GroupCommitTest, StopRefusesWhatWouldTakeSeveralWrites) {
  Start();
  HangInAWrite();
  const auto own = Notes(2, "own ");
  store_.SaveInPieces(own[0].id, 1'000'000'000);
  SubmitAs({.id = 1, .group = 1}, own);
  std::future<void> stopped = std::async(std::launch::async, [this] { commit_->Stop(); });
  store_.LetSavesGo();
  stopped.get();
  EXPECT_EQ(told_.ids().size(), 3U);
  EXPECT_EQ(commit_->Stats().failed, 1U);
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
        // Every thread brings the same events: one of each is saved, the others are duplicates.
        for (const PlainEvent& note : Notes(kEach)) commit.Submit(SubmissionsOf({&note, 1}));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const std::vector<SaveOutcome> outcomes = told.outcomes();
  EXPECT_EQ(std::ranges::count(outcomes, SaveOutcome::kSaved), kEach);
  EXPECT_EQ(std::ranges::count(outcomes, SaveOutcome::kDuplicate), kEach * (kThreads - 1));
  EXPECT_EQ(StoredIds(*store).size(), kEach);
}

}  // namespace
}  // namespace weir
