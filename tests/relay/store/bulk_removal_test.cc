// GroupCommit::RemoveBulk: removals by id beside all other work of the commit thread.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <list>
#include <string>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/relay/store/group_commit_fixture.h"
#include "throttle/write_gate.h"

namespace weir {
namespace {

class BulkRemovalTest : public GroupCommitTest {
 protected:
  ~BulkRemovalTest() override { commit_.reset(); }

  std::future<Result<uint64_t>> Remove(size_t count) {
    return std::async(std::launch::async,
                      [this, count] { return commit_->RemoveBulk(std::vector<EventId>(count, EventId{1})); });
  }
  // Lets the gate admit no bulk work until OpenGate.
  void CloseGate() {
    admit_ = [this](Cost cost) { return gate_.Admit(cost, {.work_class = WorkClass::kBulk}); };
    WriteLimits limits;
    limits.open = false;
    limits[WorkClass::kBulk] = {.bytes_per_second = 1e6, .longest_wait = std::chrono::minutes(1), .hold = true};
    gate_.SetLimits(limits);
  }
  void OpenGate() { gate_.SetLimits({}); }

  ManualClock gate_clock_;
  WriteGate gate_{gate_clock_, [](TimePoint) {}};
};

TEST_F(BulkRemovalTest, RemovesInPiecesAndReturnsTheNumber) {
  Start();
  EXPECT_EQ(Remove(5).get().value(), 5U);
  EXPECT_EQ(store_.log(), "delete 2, delete 2, delete 1");
}

TEST_F(BulkRemovalTest, NoIdsAreNoWork) {
  Start();
  EXPECT_EQ(commit_->RemoveBulk({}).value(), 0U);
  commit_->Stop();
  EXPECT_EQ(store_.log(), "");
}

TEST_F(BulkRemovalTest, GoesOnBesideOtherRemovals) {
  Start();
  store_.SetExpired(2 * ScriptedStore::kSweptAtOnce);
  clock_.Advance(60);
  EXPECT_EQ(Remove(4).get().value(), 4U);
  EXPECT_EQ(Remove(2).get().value(), 2U);
  EXPECT_TRUE(Eventually([this] { return commit_->Stats().expired_removed == 2 * ScriptedStore::kSweptAtOnce; }));
}

TEST_F(BulkRemovalTest, WaitsForTheGateAndEventsDoNot) {
  CloseGate();
  Start();
  auto removed = Remove(3);
  store_.WaitForLog("delete 2");
  Submit(Notes(1));
  told_.WaitFor(1);
  EXPECT_EQ(store_.log(), "delete 2, save 1");
  OpenGate();
  EXPECT_EQ(removed.get().value(), 3U);
}

TEST_F(BulkRemovalTest, CallsOfOnePieceWaitForTheGateToo) {
  CloseGate();
  Start();
  EXPECT_EQ(Remove(1).get().value(), 1U);
  auto second = Remove(1);
  EXPECT_TRUE(Eventually([this] { return gate_.Stats().waiting > 0; }));
  Submit(Notes(1));
  told_.WaitFor(1);
  EXPECT_EQ(store_.log(), "delete 1, save 1");
  OpenGate();
  EXPECT_EQ(second.get().value(), 1U);
}

TEST_F(BulkRemovalTest, AFailureIsToldToItsCallerAndTheNextCallGoesOn) {
  Start();
  store_.FailDeletions("no space left on device");
  EXPECT_EQ(Remove(3).get().status().message(), "no space left on device");
  store_.FailDeletions("");
  EXPECT_EQ(Remove(3).get().value(), 3U);
  EXPECT_EQ(commit_->Stats().failed_sweeps, 0U);
}

TEST_F(BulkRemovalTest, ACancelledCallReturnsWhatIsRemovedAndOthersGoOn) {
  CloseGate();
  Start();
  std::atomic<bool> cancelled = false;
  auto first = std::async(std::launch::async,
                          [&] { return commit_->RemoveBulk(std::vector<EventId>(3, EventId{1}), &cancelled); });
  store_.WaitForLog("delete 2");
  auto second = Remove(1);
  cancelled = true;
  EXPECT_EQ(first.get().value(), 2U);
  OpenGate();
  EXPECT_EQ(second.get().value(), 1U);
  EXPECT_EQ(store_.log(), "delete 2, delete 1");
}

TEST_F(BulkRemovalTest, StopEndsTheCallsThatWait) {
  CloseGate();
  Start();
  auto first = Remove(3);
  store_.WaitForLog("delete 2");
  auto second = Remove(1);
  commit_->Stop();
  EXPECT_EQ(first.get().status().message(), "shutting down");
  EXPECT_EQ(second.get().status().message(), "shutting down");
  EXPECT_EQ(Remove(1).get().status().message(), "shutting down");
  EXPECT_EQ(store_.log(), "delete 2");
}

}  // namespace
}  // namespace weir
