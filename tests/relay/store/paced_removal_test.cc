// Removals in pieces pass the write gate, so that the engine keeps up with them; others do not wait for them.
#include <gtest/gtest.h>

#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/held_gate.h"
#include "tests/relay/store/group_commit_fixture.h"

namespace weir {
namespace {

class PacedRemovalTest : public GroupCommitTest {
 protected:
  PacedRemovalTest() { admit_ = gate_.Admit(); }
  ~PacedRemovalTest() override { commit_.reset(); }

  void WaitForARefusal() {
    EXPECT_TRUE(Eventually([this] { return gate_.has_refused(); }));
  }
  // Submits a deletion of two pieces; the second waits at the closed gate.
  std::vector<PlainEvent> SubmitOneThatWaits() {
    gate_.Hold();
    Start();
    auto own = Notes(1, "own ");
    store_.SaveInPieces(own[0].id, 2);
    Submit(own);
    store_.WaitForLog("save 1");
    EXPECT_TRUE(Eventually([this] { return gate_.holds_one(); }));
    return own;
  }

  HeldGate gate_;
};

TEST_F(PacedRemovalTest, TheRestOfALargeDeletionWaitsForTheGateAndOthersDoNot) {
  gate_.Hold();
  Start();
  const auto own = Notes(2, "own ");
  store_.SaveInPieces(own[0].id, 3);
  SubmitAs({.id = 1, .group = 1}, {own[0]});
  store_.WaitForLog("save 1");
  SubmitAs({.id = 1, .group = 1}, {own[1]});
  SubmitAs({.id = 2, .group = 2}, Notes(1, "other "));
  told_.WaitFor(2);
  EXPECT_EQ(commit_->Stats().waiting, 1U);
  gate_.Open();
  told_.WaitFor(3);
  EXPECT_EQ(told_.ids().back(), own[0].id);
  EXPECT_EQ(commit_->Stats().waiting, 0U);
}

TEST_F(PacedRemovalTest, ASweepGoesOnWhenTheGateLetsIt) {
  gate_.Hold();
  Start();
  store_.SetExpired(3 * ScriptedStore::kSweptAtOnce);
  clock_.Advance(60);
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep");
  Submit(Notes(1));
  store_.WaitForLog("save 1, vanish, sweep, save 1");
  gate_.Open();
  store_.WaitForLog("save 1, vanish, sweep, save 1, sweep, sweep");
}

TEST_F(PacedRemovalTest, ARemovalThatTheGateRefusesHasWaitedLongEnough) {
  (void)SubmitOneThatWaits();
  gate_.PassAMinute();
  told_.WaitFor(1);
}

TEST_F(PacedRemovalTest, ASweepThatIsRefusedAtOnceAsksAgainLater) {
  gate_.Refuse();
  Start();
  store_.SetExpired(3 * ScriptedStore::kSweptAtOnce);
  clock_.Advance(60);
  Submit(Notes(1));
  WaitForARefusal();
  Submit(Notes(1));
  told_.WaitFor(2);
  ASSERT_EQ(store_.log(), "save 1, vanish, sweep, save 1");
  gate_.Open();
  steady_.Advance(PacedRemovals::kAskAgainAfter);
  store_.WaitForLog("save 1, vanish, sweep, save 1, sweep, sweep");
}

TEST_F(PacedRemovalTest, ADeletionRefusedAtOnceGoesOnAfterAMinute) {
  gate_.Refuse();
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
  EXPECT_FALSE(gate_.holds_one());
}

}  // namespace
}  // namespace weir
