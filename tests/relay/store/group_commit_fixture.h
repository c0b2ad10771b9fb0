// GroupCommitTest: a GroupCommit on a ScriptedStore, and a record of what the GroupCommit has reported.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/store/group_commit.h"
#include "tests/relay/store/scripted_store.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

inline constexpr uint64_t kStart = 1'700'000'000;

inline std::vector<PlainEvent> Notes(size_t count, const std::string& prefix = "note ") {
  std::vector<PlainEvent> notes;
  for (size_t i = 0; i < count; ++i) notes.push_back(Plain(Author(1), kStart, 1, {}, prefix + std::to_string(i)));
  return notes;
}

inline std::vector<std::string> IdsOf(const std::vector<PlainEvent>& events) {
  std::vector<std::string> ids;
  for (const PlainEvent& event : events) ids.push_back(event.id);
  return ids;
}

inline std::vector<std::shared_ptr<Submission>> SubmissionsOf(std::span<const PlainEvent> events,
                                                              const Party& party = {}, Work work = 0) {
  std::vector<std::shared_ptr<Submission>> submissions;
  for (const PlainEvent& event : events)
    submissions.push_back(std::make_shared<Submission>(ToEvent(event), party, work));
  return submissions;
}

// Told: records the reports of the GroupCommit, in order.
class Told {
 public:
  GroupCommit::Done Listener() {
    return [this](GroupCommit::Submissions settled, const Status& status) {
      if (telling_) telling_(true);
      {
        const std::lock_guard lock(mutex_);
        writes_.push_back({{}, status});
        for (const auto& submission : settled) {
          writes_.back().ids.push_back(ToHex(submission->event.view().id()));
          outcomes_.push_back(submission->result.outcome);
          ++count_;
        }
        changed_.notify_all();
      }
      if (telling_) telling_(false);
    };
  }
  // Sets a function that is called on the reporting thread, at the beginning and at the end of each report.
  void WhenTold(std::function<void(bool begins)> telling) { telling_ = std::move(telling); }

  struct Write {
    std::vector<std::string> ids;
    Status status;
  };

  // Waits until this many events were reported. Fails the test after a minute.
  void WaitFor(size_t events) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return count_ >= events; })) << count_;
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
  std::function<void(bool)> telling_;
  std::vector<Write> writes_;
  std::vector<SaveOutcome> outcomes_;
  size_t count_ = 0;
};

class GroupCommitTest : public testing::Test {
 protected:
  void Start(const GroupCommitLimits& limits = {}) {
    commit_ = std::make_unique<GroupCommit>(store_, told_.Listener(), limits, clock_, admit_, steady_);
    store_.WaitForLog("vanish, sweep");  // the commit looks for unfinished removals
    store_.ForgetLog();
  }
  void Submit(const std::vector<PlainEvent>& events) { SubmitAs({}, events); }
  // Submits the events in the name of this party.
  void SubmitAs(const Party& party, const std::vector<PlainEvent>& events, Work work = 0) {
    commit_->Submit(SubmissionsOf(events, party, work));
  }
  void HangInAWrite() {
    store_.HoldSaves();
    Submit(Notes(1, "first "));
    store_.WaitForSave();
  }
  // Submits the events while the first write hangs, so that all of them wait for the next write.
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
  ManualClock steady_;
  ScriptedStore store_;
  Told told_;
  PacedRemovals::Admit admit_;
  std::unique_ptr<GroupCommit> commit_;  // destroyed first
};

}  // namespace weir
