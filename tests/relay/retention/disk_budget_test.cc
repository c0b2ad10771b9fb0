// The disk budget holds although removed events take space until they are compacted, and it never removes too much.
#include "relay/retention/disk_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

constexpr uint64_t kBudget = 10'000'000'000;
constexpr uint64_t kEvent = 700;  // bytes of an event
constexpr uint64_t kMegabyte = 1'000'000;
constexpr Duration kTick = std::chrono::seconds(2);

TimePoint At(int seconds) { return TimePoint(std::chrono::seconds(seconds)); }

// A store whose removed events come back in steps, some minutes later.
class SimulatedStore {
 public:
  SimulatedStore(uint64_t bytes, int lag_ticks) : live_(bytes), lag_ticks_(lag_ticks) {}

  void Tick(uint64_t ingested) {
    live_ += ingested;
    ++tick_;
    while (!waiting_.empty() && waiting_.front().first + lag_ticks_ <= tick_ && tick_ % 8 == 0) {
      removed_ -= waiting_.front().second;
      waiting_.pop_front();
    }
  }
  void SetLag(int ticks) { lag_ticks_ = ticks; }
  void Remove(uint64_t events) {
    const uint64_t bytes = std::min(live_, events * kEvent);
    live_ -= bytes;
    removed_ += bytes;
    if (bytes > 0) waiting_.emplace_back(tick_, bytes);
  }
  DiskUse use() const { return {.events = live_ / kEvent, .disk_bytes = live_ + removed_, .removed_bytes = removed_}; }
  double live_share() const { return static_cast<double>(live_) / kBudget; }
  double disk_share() const { return static_cast<double>(live_ + removed_) / kBudget; }

 private:
  uint64_t live_;
  uint64_t removed_ = 0;
  int tick_ = 0;
  int lag_ticks_;
  std::deque<std::pair<int, uint64_t>> waiting_;
};

// Lets two seconds pass, in which events come, and looks. Then the sweeper removes what has to go, or what it can.
void Look(int tick, uint64_t ingested, SimulatedStore& store, DiskBudget& budget, uint64_t most_events = UINT64_MAX) {
  store.Tick(ingested);
  budget.Note(store.use(), TimePoint(kTick * tick));
  const uint64_t events = std::min(most_events, budget.events_to_go());
  store.Remove(events);
  budget.NoteRemoved(events);
}

// Repeats what was measured after an import (bench/results/retention): the events of two seconds are a 770th of the
// budget, and removed ones come back after half a minute at first, and after five minutes in the end.
class AfterAnImport {
 public:
  static constexpr int kTicks = 900;  // half an hour

  void Look(int tick) {
    store.SetLag(15 + 135 * std::min(tick, kTicks) / kTicks);
    weir::Look(tick, 13 * kMegabyte, store, budget);
  }
  SimulatedStore store{kBudget - kBudget / 20, 15};
  DiskBudget budget{kBudget};
};

struct Shares {
  double least_live = 10, most_disk = 0, least_disk = 10;
};

// Runs a store at a budget. The result has the shares of the last half of the time, and the least live share ever.
Shares Simulate(SimulatedStore store, uint64_t ingested_in_a_tick, int ticks) {
  DiskBudget budget(kBudget);
  Shares shares;
  for (int tick = 0; tick < ticks; ++tick) {
    Look(tick, ingested_in_a_tick, store, budget);
    shares.least_live = std::min(shares.least_live, store.live_share());
    if (tick < ticks / 2) continue;
    shares.most_disk = std::max(shares.most_disk, store.disk_share());
    shares.least_disk = std::min(shares.least_disk, store.disk_share());
  }
  return shares;
}

TEST(DiskBudget, NothingGoesBelowIt) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1'000'000, .disk_bytes = kBudget - 1}, At(0));
  EXPECT_EQ(budget.events_to_go(), 0U);
  EXPECT_EQ(budget.room(), WriteRoom::kAll);
}

TEST(DiskBudget, AtTheBudgetAThousandthGoes) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1'000'000, .disk_bytes = kBudget + 1}, At(0));
  EXPECT_NEAR(static_cast<double>(budget.events_to_go()), 1'000, 1);
}

TEST(DiskBudget, LogsAndCopiesCountByTheirAverage) {
  DiskBudget budget(kBudget);
  const auto look = [&budget](int second, uint64_t others) {
    const uint64_t tables = kBudget - kBudget / 50;
    budget.Note({.events = 1'000'000, .disk_bytes = tables, .file_bytes = tables + others}, At(second));
    return budget.events_to_go();
  };
  EXPECT_EQ(look(0, kBudget / 100), 0U);
  EXPECT_EQ(look(2, kBudget / 20), 0U) << "a compaction writes copies for a moment";
  EXPECT_EQ(budget.used_bytes(), kBudget + kBudget * 3 / 100);
  uint64_t go = 0;
  for (int second = 4; second < 600; second += 2) go = look(second, kBudget / 20);
  EXPECT_NEAR(static_cast<double>(go), 31'000 / 0.98, 100) << "they are always there";
}

TEST(DiskBudget, LogsAndCopiesThatFillTheBudgetDoNotEmptyTheStore) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1'000'000, .disk_bytes = kBudget, .file_bytes = 3 * kBudget}, At(0));
  EXPECT_NEAR(static_cast<double>(budget.events_to_go()), 101'000, 1);
}

TEST(DiskBudget, RemovedEventsThatStillTakeSpaceAreNotRemovedAgain) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1'500'000, .disk_bytes = 15'000 * kMegabyte, .removed_bytes = 0}, At(0));
  EXPECT_NEAR(static_cast<double>(budget.events_to_go()), 501'000, 1);
  budget.Note({.events = 999'000, .disk_bytes = 15'000 * kMegabyte, .removed_bytes = 5'010 * kMegabyte}, At(2));
  EXPECT_EQ(budget.events_to_go(), 0U);
  for (int second = 4; second < 4000; second += 2)
    budget.Note({.events = 999'000, .disk_bytes = 15'000 * kMegabyte, .removed_bytes = 5'010 * kMegabyte}, At(second));
  EXPECT_EQ(budget.events_to_go(), 0U) << "however long compaction takes";
}

TEST(DiskBudget, HoldsWithinThreeHundredthsUnderLoad) {
  for (const int lag_ticks : {1, 15, 60, 150}) {
    for (const uint64_t megabytes : {1, 3, 5}) {  // in two seconds
      const Shares shares = Simulate(SimulatedStore(kBudget - kBudget / 20, lag_ticks), megabytes * kMegabyte, 4000);
      EXPECT_LT(shares.most_disk, 1.03) << lag_ticks << " ticks, " << megabytes << " MB";
      EXPECT_GT(shares.least_disk, 0.97) << lag_ticks << " ticks, " << megabytes << " MB";
    }
  }
}

TEST(DiskBudget, NeverRemovesMoreThanATenthTooMuchWhenItIsLowered) {
  for (const int lag_ticks : {1, 60, 600}) {
    const Shares shares = Simulate(SimulatedStore(3 * kBudget, lag_ticks), kMegabyte, 4000);
    EXPECT_GT(shares.least_live, 1 - 0.10 - DiskBudget::kRemovedAtOnce) << lag_ticks;
    EXPECT_LT(shares.most_disk, 1.03) << lag_ticks;
  }
}

TEST(DiskBudget, TheMeanOfTenMinutesHoldsWhileRemovedEventsStayEverLonger) {
  constexpr int kTenMinutes = 300;
  AfterAnImport relay;
  double sum = 0;
  for (int tick = 0; tick < 2 * AfterAnImport::kTicks; ++tick) {
    relay.Look(tick);
    sum += relay.store.disk_share();
    if ((tick + 1) % kTenMinutes != 0) continue;
    if (tick > kTenMinutes) {
      EXPECT_NEAR(sum / kTenMinutes, 1, 0.02) << tick;
    }
    sum = 0;
  }
}

TEST(DiskBudget, TheExcessDoesNotGrowWhileNothingIsSavedAndNothingComesBack) {
  AfterAnImport relay;
  int tick = 0;
  while (tick < 700) relay.Look(tick++);
  relay.store.SetLag(1'000'000);
  while (tick < 1000) Look(tick++, 0, relay.store, relay.budget);
  const double live = relay.store.live_share();
  while (tick < 3000) Look(tick++, 0, relay.store, relay.budget);
  EXPECT_EQ(relay.store.live_share(), live);
}

TEST(DiskBudget, TheExcessFallsAlsoWhileNothingIsSaved) {
  AfterAnImport relay;
  int tick = 0;
  while (tick < AfterAnImport::kTicks) relay.Look(tick++);
  const DiskUse kept_by_rules{.events = 1000, .disk_bytes = kBudget - kBudget / 1000};
  const auto to_go = [&] {
    relay.budget.Note(kept_by_rules, TimePoint(kTick * tick++));
    return relay.budget.events_to_go();
  };
  for (int i = 0; i < 100; ++i) to_go();
  EXPECT_GT(to_go(), 0u) << "the excess is left free";
  for (int i = 0; i < 5000; ++i) to_go();
  EXPECT_EQ(to_go(), 0u);
}

TEST(DiskBudget, TheExcessDoesNotWindUpWhileTheSweeperCannotKeepUp) {
  SimulatedStore store(kBudget, 30);
  DiskBudget budget(kBudget);
  int tick = 0;
  while (tick < 1500) Look(tick++, 3 * kMegabyte, store, budget, 2 * kMegabyte / kEvent);
  EXPECT_GT(store.disk_share(), 1.1);
  double least = 10;
  while (tick < 3000) {
    Look(tick++, 3 * kMegabyte, store, budget);
    least = std::min(least, store.disk_share());
  }
  EXPECT_GT(least, 0.99);
}

TEST(DiskBudget, ALoweredBudgetIsNoExcess) {
  SimulatedStore store(2 * kBudget, 1'000'000);
  DiskBudget budget(kBudget);
  for (int tick = 0; tick < 4000; ++tick) Look(tick, 100 * kEvent, store, budget);
  EXPECT_GT(store.live_share(), 0.98) << "little is saved, so what was removed does not come back";
}

TEST(DiskBudget, WhatWasRemovedSinceTheLookNeedNotGoAgain) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1'000'000, .disk_bytes = kBudget + 1}, At(0));
  const uint64_t go = budget.events_to_go();
  budget.NoteRemoved(256);
  EXPECT_EQ(budget.events_to_go(), go - 256);
  budget.NoteRemoved(go);
  EXPECT_EQ(budget.events_to_go(), 0U);
}

TEST(DiskBudget, TheRoomGetsLessInSteps) {
  struct Step {
    double share;
    WriteRoom room;
  };
  for (const Step& step : {Step{1.0, WriteRoom::kAll},
                           {1.019, WriteRoom::kAll},
                           {1.03, WriteRoom::kNoImports},
                           {1.06, WriteRoom::kKnownAuthors},
                           {1.11, WriteRoom::kNone}}) {
    DiskBudget budget(kBudget);
    budget.Note({.events = 1, .disk_bytes = kBudget}, At(0));
    budget.Note({.events = 1, .disk_bytes = static_cast<uint64_t>(step.share * kBudget)}, At(2));
    EXPECT_EQ(budget.room(), step.room) << step.share;
    budget.Note({.events = 1, .disk_bytes = kBudget}, At(4));
    EXPECT_EQ(budget.room(), WriteRoom::kAll);
  }
}

TEST(DiskBudget, ALoweredBudgetLeavesRoomUnlessTheStoreGrows) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1, .disk_bytes = 2 * kBudget}, At(0));
  EXPECT_EQ(budget.room(), WriteRoom::kAll);
  budget.Note({.events = 1, .disk_bytes = 2 * kBudget + kBudget / 2}, At(2));
  EXPECT_EQ(budget.room(), WriteRoom::kNone);
  budget.Note({.events = 1, .disk_bytes = kBudget + kBudget / 2}, At(4));
  EXPECT_EQ(budget.room(), WriteRoom::kAll);
  budget.Note({.events = 1, .disk_bytes = 2 * kBudget}, At(6));
  EXPECT_EQ(budget.room(), WriteRoom::kNone) << "it had been lower";
}

TEST(DiskBudget, RefusesStrangersBeforeRegularsAndNeverTheirDeletions) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1, .disk_bytes = kBudget}, At(0));
  EXPECT_EQ(budget.Refusal(Rung::kReported, 1), "");
  budget.Note({.events = 1, .disk_bytes = kBudget + kBudget / 33}, At(2));
  EXPECT_EQ(budget.Refusal(Rung::kStranger, 1), "");
  EXPECT_TRUE(Has(budget.RefusalOfImport(), "WEIR_MAX_DISK_GB"));
  budget.Note({.events = 1, .disk_bytes = kBudget + kBudget / 16}, At(4));
  EXPECT_TRUE(budget.Refusal(Rung::kNewcomer, 1).starts_with("error: this relay's disk budget"));
  EXPECT_EQ(budget.Refusal(Rung::kRegular, 1), "");
  EXPECT_EQ(budget.Refusal(std::nullopt, 1), "") << "without the ladder there are no strangers";
  budget.Note({.events = 1, .disk_bytes = kBudget + kBudget / 8}, At(6));
  EXPECT_TRUE(budget.Refusal(Rung::kTrusted, 1).starts_with("error: this relay's disk budget is full;"));
  EXPECT_EQ(budget.Refusal(Rung::kRegular, 5), "");
  EXPECT_EQ(budget.Refusal(std::nullopt, 62), "");
  EXPECT_NE(budget.Refusal(Rung::kNewcomer, 5), "") << "its marks take space, and need not free any";
}

TEST(DiskBudget, TakesNothingMoreWhenAllThatIsLeftIsKept) {
  DiskBudget budget(kBudget);
  budget.Note({.events = 1'000, .disk_bytes = kBudget + 1}, At(0));
  budget.NoteNothingLeft(true);
  EXPECT_TRUE(Has(budget.Refusal(Rung::kTrusted, 1), "all that is stored is to be kept"));
  EXPECT_TRUE(Has(budget.RefusalOfImport(), "all that is stored is to be kept"));
  budget.Note({.events = 1'000, .disk_bytes = kBudget + 1}, At(2));
  EXPECT_EQ(budget.room(), WriteRoom::kNone);
  budget.Note({.events = 900, .disk_bytes = kBudget - 1}, At(4));
  EXPECT_EQ(budget.Refusal(Rung::kTrusted, 1), "");
}

}  // namespace
}  // namespace weir
