// Checks promises that every kind of quota store must keep when many processes use it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/hammer.h"

namespace weir {

inline constexpr size_t kHammerProcesses = 8;

inline void CheckThatNoWindowHasMoreThanItsLimit(const std::string& url) {
  constexpr int64_t kLimit = 200;
  const HammerWindow window = HammerSlidingWindow(url, kHammerProcesses, kLimit);
  EXPECT_EQ(window.failed, 0);
  EXPECT_LE(window.most, kLimit);
  EXPECT_GT(window.taken, kLimit);
}

// Checks that the store releases the reservations of processes that were killed. `open` opens the store of the URL on
// the test's clock.
inline void CheckThatKilledHoldersGiveBack(const std::string& url,
                                           const std::function<std::unique_ptr<QuotaStore>(const WallClock&)>& open) {
  constexpr size_t kHolders = 4;
  ASSERT_EQ(HammerKilledHolders(url, kHolders), kHolders);
  ManualWallClock clock(WallClock::System().Now());
  const std::unique_ptr<QuotaStore> store = open(clock);
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), 10 * static_cast<int64_t>(kHolders));
  EXPECT_EQ(usage.open_reservations, static_cast<int64_t>(kHolders));
  // The entries have left the window of the shorter tier; the reservations are still open.
  clock.Advance(kMinute);
  store->Prune();
  EXPECT_EQ(HammeredTokens(*store, &usage), 10 * static_cast<int64_t>(kHolders));
  EXPECT_EQ(usage.open_reservations, static_cast<int64_t>(kHolders));
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(HammeredTokens(*store, &usage), 0);
  EXPECT_EQ(usage, ModelUsage{});
  EXPECT_EQ(store->Health().expired_reservations, kHolders);
}

}  // namespace weir
