#include "throttle/quota/window_log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace weir {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kStart{seconds(1'771'597'921)};
constexpr Duration kGranule = WindowLog::Granule(kMinute);

TEST(WindowLog, KeepsAnEntryForExactlyItsWindow) {
  WindowLog log(kMinute);
  log.Add(kStart, 5);
  log.Advance(kStart + kMinute - Duration(1));
  EXPECT_EQ(log.used(), 5);
  log.Advance(kStart + kMinute);
  EXPECT_EQ(log.used(), 0);
  EXPECT_TRUE(log.Entries().empty());
}

// Else all that comes would be added to an entry of the future, until the clock is there again.
TEST(WindowLog, AfterAStepBackEntriesAreKeptApartAgain) {
  WindowLog log(kMinute);
  for (size_t i = 0; i < WindowLog::kExactEntries; ++i) log.Add(kStart + seconds(10), 1);
  log.Advance(kStart);
  const WindowLog::Ref at_once = log.Add(kStart, 1);
  log.Advance(kStart + 2 * kGranule);
  EXPECT_NE(log.Add(kStart + 2 * kGranule, 1), at_once);
}

TEST(WindowLog, GivesBackWhatStillCounts) {
  WindowLog log(kMinute);
  const WindowLog::Ref first = log.Add(kStart, 5);
  const WindowLog::Ref second = log.Add(kStart + seconds(1), 7);
  log.GiveBack(second, 3);
  EXPECT_EQ(log.used(), 9);
  log.GiveBack(second, 100);
  EXPECT_EQ(log.used(), 5);
  log.Advance(kStart + kMinute);
  log.GiveBack(first, 5);
  EXPECT_EQ(log.used(), 0);
  log.GiveBack(first + 100, 5);
  EXPECT_EQ(log.used(), 0);
}

TEST(WindowLog, KeepsEachEntryUpToTheExactOnes) {
  WindowLog log(kMinute);
  for (size_t i = 0; i < WindowLog::kExactEntries; ++i) log.Add(kStart, 1);
  EXPECT_EQ(log.Entries().size(), WindowLog::kExactEntries);
  log.Add(kStart + kGranule - Duration(1), 1);
  EXPECT_EQ(log.Entries().size(), WindowLog::kExactEntries);
  EXPECT_EQ(log.Entries().back(), (WindowLog::Entry{kStart + kGranule - Duration(1), 2}));
  log.Add(kStart + kGranule, 1);
  EXPECT_EQ(log.Entries().size(), WindowLog::kExactEntries + 1);
  EXPECT_EQ(log.used(), static_cast<int64_t>(WindowLog::kExactEntries + 2));
}

TEST(WindowLog, IsBoundedWhateverTheRate) {
  WindowLog log(kMinute);
  WallTime now = kStart;
  size_t most = 0;
  for (int i = 0; i < 400'000; ++i) {
    now += microseconds(i % 100'000 < 50'000 ? 10 : 700);
    log.Advance(now);
    log.Add(now, 1);
    if (i % 1000 == 0) most = std::max(most, log.Entries().size());
  }
  EXPECT_GT(most, WindowLog::kExactEntries);
  EXPECT_LE(most, WindowLog::kExactEntries + 1026);
}

TEST(WindowLog, IsBoundedWhenTheClockSwings) {
  WindowLog log(kMinute);
  for (int i = 0; i < 40'000; ++i) {
    const WallTime now = kStart + (i % 2 == 0 ? Duration() : 2 * kGranule);
    log.Advance(now);
    log.Add(now, kMostAmount);
  }
  EXPECT_LE(log.Entries().size(), WindowLog::kMostEntries);
  EXPECT_GT(log.used(), 0);
  log.Advance(kStart + kMinute + 2 * kGranule);
  EXPECT_EQ(log.used(), 0);
}

TEST(WindowLog, GivesBackFromWhatWasAddedTogether) {
  WindowLog log(kMinute);
  for (size_t i = 0; i < WindowLog::kExactEntries; ++i) log.Add(kStart, 1);
  const WindowLog::Ref one = log.Add(kStart + milliseconds(1), 10);
  const WindowLog::Ref other = log.Add(kStart + milliseconds(2), 20);
  EXPECT_EQ(one, other);
  log.GiveBack(one, 10);
  log.Advance(kStart + kMinute + milliseconds(1));
  EXPECT_EQ(log.used(), 21);  // the last of the exact ones is part of it
}

// Against a list of what was added, with the times that the clock's steps left.
RC_GTEST_PROP(WindowLog, SaysWhatAListOfItsEntriesSays, ()) {
  struct Plain {
    WallTime time;
    int64_t amount;
    WindowLog::Ref ref;
  };
  const Duration window = seconds(10);
  WindowLog log(window);
  std::vector<Plain> plain;
  WallTime now = kStart;
  const auto used_at = [&](WallTime at) {
    int64_t used = 0;
    for (const Plain& entry : plain)
      if (at - entry.time < window) used += entry.amount;
    return used;
  };
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-4, 12));
  for (const int step : steps) {
    now += milliseconds(700) * step;
    log.Advance(now);
    std::erase_if(plain, [&](const Plain& entry) { return now - entry.time >= window; });
    for (Plain& entry : plain) entry.time = std::min(entry.time, now);
    RC_ASSERT(log.used() == used_at(now));

    const int64_t amount = *rc::gen::inRange<int64_t>(1, 100);
    const int64_t limit = *rc::gen::inRange<int64_t>(100, 300);
    if (log.used() + amount > limit) {
      const Duration wait = log.UntilFits(now, amount, limit);
      RC_ASSERT(used_at(now + wait) + amount <= limit);
      RC_ASSERT(used_at(now + wait - Duration(1)) + amount > limit);
    }
    plain.push_back({now, amount, log.Add(now, amount)});
    Plain& some = plain[*rc::gen::inRange<size_t>(0, plain.size())];
    const int64_t back = *rc::gen::inRange<int64_t>(0, some.amount + 1);
    some.amount -= back;
    log.GiveBack(some.ref, back);
    RC_ASSERT(log.used() == used_at(now));
  }
}

}  // namespace
}  // namespace weir
