// Removals in pieces pass the write gate, so that the engine keeps up with them; others do not wait for them.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/relay/store/group_commit_fixture.h"
#include "throttle/write_gate.h"

namespace weir {
namespace {

class PacedRemovalTest : public GroupCommitTest {
 protected:
  PacedRemovalTest() {
    admit_ = [this](Cost cost) { return gate_.Admit(cost, {.work_class = WorkClass::kBulk}); };
  }
  ~PacedRemovalTest() override { commit_.reset(); }

  // Makes callers wait, until OpenGate or for a minute.
  void CloseGate() {
    WriteLimits limits;
    limits.open = false;
    for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
      limits[c].bytes_per_second = 1e6;
      limits[c].longest_wait = std::chrono::minutes(1);
      limits[c].hold = c == WorkClass::kBulk;
    }
    gate_.SetLimits(limits);
  }
  // Makes the gate refuse bulk work at once, because it would have to wait for hours.
  void RefuseAtOnce() {
    WriteLimits limits;
    limits.open = false;
    limits[WorkClass::kBulk].bytes_per_second = 1;
    gate_.SetLimits(limits);
  }
  void WaitForARefusal() {
    EXPECT_TRUE(Eventually([this] { return gate_.Stats().waits[WorkClass::kBulk].refused > 0; }));
  }
  void OpenGate() { gate_.SetLimits({}); }
  // Submits a deletion of two pieces; the second waits at the closed gate.
  std::vector<PlainEvent> SubmitOneThatWaits() {
    CloseGate();
    Start();
    auto own = Notes(1, "own ");
    store_.SaveInPieces(own[0].id, 2);
    Submit(own);
    store_.WaitForLog("save 1");
    EXPECT_TRUE(Eventually([this] { return gate_.Stats().waiting > 0; }));
    return own;
  }

  ManualClock gate_clock_;
  WriteGate gate_{gate_clock_, [](TimePoint) {}};
};

TEST_F(PacedRemovalTest, TheRestOfALargeDeletionWaitsForTheGateAndOthersDoNot) {
  CloseGate();
  Start();
  const auto own = Notes(2, "own ");
  store_.SaveInPieces(own[0].id, 3);
  SubmitAs({.id = 1, .group = 1}, {own[0]});
  store_.WaitForLog("save 1");
  SubmitAs({.id = 1, .group = 1}, {own[1]});
  SubmitAs({.id = 2, .group = 2}, Notes(1, "other "));
  told_.WaitFor(2);
  EXPECT_EQ(commit_->Stats().waiting, 1U);
  OpenGate();
  told_.WaitFor(3);
  EXPECT_EQ(told_.ids().back(), own[0].id);
  EXPECT_EQ(commit_->Stats().waiting, 0U);
}

TEST_F(PacedRemovalTest, ASweepGoesOnWhenTheGateLetsIt) {
  CloseGate();
  Start();
  store_.SetExpired(3 * ScriptedStore::kSweptAtOnce);
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep");
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep, save 1");
  OpenGate();
  store_.WaitForLog("save 1, vanish, sweep, save 1, sweep, sweep");
}

TEST_F(PacedRemovalTest, ARemovalThatTheGateRefusesHasWaitedLongEnough) {
  (void)SubmitOneThatWaits();
  gate_clock_.Advance(std::chrono::minutes(1));
  gate_.Pump();
  told_.WaitFor(1);
}

TEST_F(PacedRemovalTest, ASweepThatIsRefusedAtOnceAsksAgainLater) {
  RefuseAtOnce();
  Start();
  store_.SetExpired(3 * ScriptedStore::kSweptAtOnce);
  clock_.Advance(60);
  Submit(Notes(1));
  WaitForARefusal();
  Submit(Notes(1));
  told_.WaitFor(2);
  ASSERT_EQ(store_.log(), "save 1, vanish, sweep, save 1");
  OpenGate();
  steady_.Advance(PacedRemovals::kAskAgainAfter);
  store_.WaitForLog("save 1, vanish, sweep, save 1, sweep, sweep");
}

TEST_F(PacedRemovalTest, ADeletionRefusedAtOnceGoesOnAfterAMinute) {
  RefuseAtOnce();
  Start();
  const auto own = Notes(1, "own ");
  const auto others = Notes(1, "other ");
  store_.SaveInPieces(own[0].id, 2);
  Submit(own);
  WaitForARefusal();
  Submit(others);
  told_.WaitFor(1);
  ASSERT_EQ(told_.ids(), IdsOf(others));
  steady_.Advance(PacedRemovals::kLongestRefused);
  told_.WaitFor(2);
  EXPECT_EQ(told_.ids().back(), own[0].id);
}

TEST_F(PacedRemovalTest, StopRefusesADeletionThatWaitsForTheGate) {
  const auto own = SubmitOneThatWaits();
  commit_->Stop();
  EXPECT_EQ(told_.ids(), IdsOf(own));
  EXPECT_EQ(commit_->Stats().failed, 1U);
  EXPECT_EQ(commit_->Stats().waiting, 0U);
  EXPECT_EQ(gate_.Stats().waiting, 0U);
}

}  // namespace
}  // namespace weir
