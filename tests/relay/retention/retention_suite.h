// RetentionSuite: a store of each kind, whose events the sweeps remove through a commit thread as in a relay. The
// rungs of authors are made up.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/retention/sweep_parts.h"
#include "relay/rules/retention_rules.h"
#include "relay/store/group_commit.h"
#include "tests/relay/store/postgres/each_store.h"

namespace weir {

inline KindSet Kinds(const std::vector<uint16_t>& numbers) {
  KindSet kinds;
  for (const uint16_t number : numbers) kinds.Add(number, number);
  return kinds;
}

class RetentionSuite : public EachStoreTest {
 protected:
  static constexpr uint64_t kNow = 1'700'000'000;
  static constexpr uint64_t kDay = 86'400;

  void Start() override {
    commit_ = std::make_unique<GroupCommit>(
        *store_, [](GroupCommit::Submissions, const Status&) {}, GroupCommitLimits{}, wall_clock_);
    reads_ = std::make_unique<BulkReads>(*store_, nullptr);
  }

  // Saves events through the commit thread, in this order.
  void Save(const std::vector<PlainEvent>& events) {
    std::vector<Event> records;
    for (const PlainEvent& event : events) records.push_back(ToEvent(event));
    std::vector<SaveResult> results(records.size());
    const Status saved = commit_->SaveBulk(records, results);
    EXPECT_TRUE(saved.ok()) << saved.message();
  }
  SweepParts Parts() {
    return {.reads = *reads_,
            .remove = [this](std::span<const EventId> ids) { return commit_->RemoveBulk(ids); },
            .rung = [this](const PublicKey& author) { return RungOf(ToHex(author)); }};
  }
  Rung RungOf(const std::string& author) const {
    const auto found = rungs_.find(author);
    return found == rungs_.end() ? Rung::kStranger : found->second;
  }
  std::vector<std::string> Stored() const { return StoredIds(*store_); }
  bool IsSound() { return place_->Difference(*store_).empty(); }

  ManualClock clock_;
  ManualWallClock wall_clock_{kNow};
  std::map<std::string, Rung> rungs_;
  std::unique_ptr<GroupCommit> commit_;
  std::unique_ptr<BulkReads> reads_;
};

}  // namespace weir
