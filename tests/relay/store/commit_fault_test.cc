// Faults of the store and of memory: the submitter of an event is told of it, whatever fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/store/group_commit_fixture.h"

namespace weir {
namespace {

using CommitFaultTest = GroupCommitTest;

TEST_F(CommitFaultTest, AFaultIsToldAsAnErrorAndTheThreadGoesOn) {
  Start();
  store_.ThrowInSaves(true);
  Submit(Notes(2));
  told_.WaitFor(2);
  EXPECT_FALSE(told_.writes()[0].status.ok());
  EXPECT_EQ(commit_->Stats().failed, 2U);
  store_.ThrowInSaves(false);
  Submit(Notes(1, "later "));
  told_.WaitFor(3);
  EXPECT_TRUE(told_.writes().back().status.ok());
}

// The n-th allocation fails between the store's save and the reports, or from there to the next save.
TEST_F(CommitFaultTest, WhereMemoryFailsEveryEventIsToldOnce) {
  // With fewer, putting the events back would take no memory.
  constexpr uint64_t kConnections = 40;
  constexpr uint64_t kEach = 3;
  const std::vector<PlainEvent> notes = Notes(kEach * kConnections);
  for (const bool after_telling : {false, true}) {
    size_t failures = 0;
    for (size_t n = 1; n == failures + 1; ++n) {
      ScriptedStore store;
      Told told;
      size_t saves = 0;
      bool failed = false;
      store.WhenSaving([&](bool begins) {
        if (begins) failed = EndFailing() || failed;
        if (!begins && ++saves == 2 && !after_telling) FailAllocation(n);
      });
      told.WhenTold([&](bool begins) {
        if (begins) failed = EndFailing() || failed;
        if (!begins && after_telling && saves == 2) FailAllocation(n);
      });
      GroupCommit commit(store, told.Listener(), {}, clock_);
      store.SaveInPieces(notes[notes.size() / 2].id, 2);
      store.HoldSaves();
      const auto submit = [&commit](uint64_t connection, std::span<const PlainEvent> events) {
        commit.Submit(SubmissionsOf(events, {.id = connection, .group = connection}));
      };
      submit(0, Notes(1, "first "));
      store.WaitForSave();
      for (uint64_t i = 0; i < kConnections; ++i) submit(i + 1, std::span(notes).subspan(kEach * i, kEach));
      store.LetSavesGo();
      told.WaitFor(1 + notes.size());
      commit.Stop();
      std::vector<std::string> ids = told.ids();
      std::ranges::sort(ids);
      EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end()) << "one was told twice";
      EXPECT_EQ(commit.Stats().waiting, 0U);
      failures += failed ? 1 : 0;
    }
    EXPECT_EQ(failures > 0, after_telling) << "what has been saved needs no memory to be told";
  }
}

}  // namespace
}  // namespace weir
