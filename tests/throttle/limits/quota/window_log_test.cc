#include "throttle/limits/quota/window_log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
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

// Otherwise everything new would be merged into an entry of the future, until the clock gets there again.
TEST(WindowLog, AfterAStepBackEntriesAreKeptApartAgain) {
  WindowLog log(kMinute);
  for (size_t i = 0; i < WindowLog::kExactEntries; ++i) log.Add(kStart + seconds(10), 1);
  log.Advance(kStart);
  const WindowLog::Ref at_once = log.Add(kStart, 1);
  log.Advance(kStart + 2 * kGranule);
  EXPECT_NE(log.Add(kStart + 2 * kGranule, 1), at_once);
}

TEST(WindowLog, GivesBackOnlyAmountsThatStillCount) {
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

TEST(WindowLog, IsBoundedAtAnyRate) {
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

TEST(WindowLog, GivesBackFromMergedEntries) {
  WindowLog log(kMinute);
  for (size_t i = 0; i < WindowLog::kExactEntries; ++i) log.Add(kStart, 1);
  const WindowLog::Ref one = log.Add(kStart + milliseconds(1), 10);
  const WindowLog::Ref other = log.Add(kStart + milliseconds(2), 20);
  EXPECT_EQ(one, other);
  log.GiveBack(one, 10);
  log.Advance(kStart + kMinute + milliseconds(1));
  EXPECT_EQ(log.used(), 21);  // the last of the exact entries was merged with it
}

TEST(WindowLog, LogsKeepToTheRoomThatTheyShare) {
  constexpr size_t kRoom = 3 * WindowLog::kMostBytes;
  Bound room(kRoom);
  WallTime now = kStart;
  {
    std::vector<WindowLog> logs;
    for (int i = 0; i < 20; ++i) logs.emplace_back(kMinute, &room);
    for (int i = 0; i < 3000; ++i) {
      now += milliseconds(1);
      for (WindowLog& log : logs) {
        log.Advance(now);
        log.Add(now, 1);
      }
      ASSERT_LE(room.held(), kRoom);
    }
    EXPECT_GT(room.held(), kRoom - WindowLog::kMostBytes);
    for (const WindowLog& log : logs) EXPECT_EQ(log.used(), 3000);
    for (WindowLog& log : logs) log.Advance(now + kMinute);
    EXPECT_EQ(room.held(), 0U) << "nothing counts any more";
    for (WindowLog& log : logs)
      for (int i = 0; i < 100; ++i) log.Add(now + kMinute, 1);
    EXPECT_GT(room.held(), 0U);
  }
  EXPECT_EQ(room.held(), 0U);
}

TEST(WindowLog, GivesRoomBackAsItsEntriesLeave) {
  Bound room(WindowLog::kMostBytes * 2);
  WindowLog log(kMinute, &room);
  for (int i = 0; i < 4000; ++i) log.Add(kStart + milliseconds(i), 1);
  const size_t full = room.held();
  log.Advance(kStart + kMinute + milliseconds(3949));
  EXPECT_EQ(log.used(), 50);
  EXPECT_LE(room.held(), full / 8);
  EXPECT_EQ(log.Entries().front(), (WindowLog::Entry{kStart + milliseconds(3950), 1}));
}

TEST(WindowLog, UnboundItReturnsItsRoomAndGrowsWithoutIt) {
  Bound room(WindowLog::kMostBytes * 2);
  WindowLog log(kMinute, &room);
  for (int i = 0; i < 2000; ++i) log.Add(kStart + milliseconds(i), 1);
  EXPECT_GT(room.held(), 0U);
  log.Unbind();
  for (int i = 2000; i < 4000; ++i) log.Add(kStart + milliseconds(i), 1);
  EXPECT_EQ(room.held(), 0U);
  EXPECT_EQ(log.Entries().size(), 4000U);
}

// Without room for a full log, each entry counts as long as it should, and at most one part longer.
RC_GTEST_PROP(WindowLog, WithoutRoomRefusesLongerAndNeverLess, ()) {
  constexpr Duration kPart = kMinute / (WindowLog::kFreeEntries / 2);
  Bound room(0);
  WindowLog log(kMinute, &room);
  std::vector<WindowLog::Entry> added;
  std::vector<WindowLog::Ref> refs;
  WallTime now = kStart;
  for (int i = 0; i < 500; ++i) {
    now += milliseconds(*rc::gen::inRange(0, 1500));
    log.Advance(now);
    int64_t least = 0, most = 0;
    for (const WindowLog::Entry& entry : added) {
      if (now - entry.time < kMinute) least += entry.amount;
      if (now - entry.time < kMinute + kPart) most += entry.amount;
    }
    RC_ASSERT(log.used() >= least);
    RC_ASSERT(log.used() <= most);
    added.push_back({now, *rc::gen::inRange<int64_t>(1, 100)});
    refs.push_back(log.Add(now, added.back().amount));
    RC_ASSERT(log.Entries().size() <= WindowLog::kFreeEntries);
    if (i % 3 == 0) log.GiveBack(refs.back(), std::exchange(added.back().amount, 0));
  }
  RC_ASSERT(room.held() == 0U);
}

// Compares the log with a list of the entries, whose times follow the clock's steps back.
RC_GTEST_PROP(WindowLog, AgreesWithAListOfItsEntries, ()) {
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
