#include "throttle/limits/by_name/grant_window.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWindow{320};  // slices of 10 ms
const TimePoint kStart = TimePoint(std::chrono::hours(5));

constexpr uint32_t kLimit = 4;

// Remembers every grant: slow, and easy to believe.
class Reference {
 public:
  explicit Reference(WindowKind kind) : kind_(kind) {}

  void Add(uint64_t number, TimePoint now) { grants_.push_back({number, now, false}); }
  bool GiveBack(uint64_t number, TimePoint now) {
    for (Grant& grant : grants_)
      if (grant.number == number && !grant.given_back && Counts(grant, now)) return grant.given_back = true;
    return false;
  }
  uint32_t Used(TimePoint now) const {
    return static_cast<uint32_t>(
        std::ranges::count_if(grants_, [&](const Grant& grant) { return !grant.given_back && Counts(grant, now); }));
  }
  // Counts the grants of the window that ends now, without those that were given back.
  uint32_t InWindow(TimePoint now) const {
    return static_cast<uint32_t>(std::ranges::count_if(
        grants_, [&](const Grant& grant) { return !grant.given_back && now - grant.at < Duration(kWindow); }));
  }

 private:
  struct Grant {
    uint64_t number;
    TimePoint at;
    bool given_back;
  };
  bool Counts(const Grant& grant, TimePoint now) const {
    const Duration slice = kind_ == WindowKind::kFixed ? Duration(kWindow) : Duration(kWindow) / GrantWindow::kSlices;
    const int64_t age = (now - kStart) / slice - (grant.at - kStart) / slice;
    return age <= (kind_ == WindowKind::kFixed ? 0 : GrantWindow::kSlices);
  }

  WindowKind kind_;
  std::vector<Grant> grants_;
};

RC_GTEST_PROP(GrantWindowProperty, CountsAsTheReferenceDoes, (bool slides)) {
  const WindowKind kind = slides ? WindowKind::kSliding : WindowKind::kFixed;
  GrantWindow window(kStart, kWindow, kind, 1000);
  Reference reference(kind);
  TimePoint now = kStart;
  uint64_t last = 1000;
  for (int step = 0; step < 300; ++step) {
    now += milliseconds(*rc::gen::weightedElement<int>({{6, 0}, {4, 3}, {3, 10}, {2, 45}, {1, 330}, {1, 2000}}));
    if (*rc::gen::inRange(0, 4) == 0) RC_ASSERT(window.UsedAt(now) == reference.Used(now));
    window.Advance(now);
    RC_ASSERT(window.used() == reference.Used(now));
    if (*rc::gen::inRange(0, 3) == 0) {
      const uint64_t number = last - *rc::gen::inRange<uint64_t>(0, 8);
      RC_ASSERT(window.GiveBack(number) == reference.GiveBack(number, now));
    } else if (window.used() < kLimit) {
      reference.Add(last = window.Add(), now);
    }
    if (slides) RC_ASSERT(reference.InWindow(now) <= kLimit);
    if (window.used() > 0) {
      const TimePoint leaves = window.NextLeaves();
      RC_ASSERT(leaves > now);
      RC_ASSERT(reference.Used(leaves - Duration(1)) == window.used());
      RC_ASSERT(reference.Used(leaves) < window.used());
    }
  }
}

TEST(GrantWindow, AWindowThatBeginsLaterCountsFromNowUntilItsEnd) {
  GrantWindow window(kStart, kWindow, WindowKind::kFixed, 1);
  window.Restart(kStart + kWindow, kWindow);
  window.Advance(kStart);
  window.Add(3);
  EXPECT_EQ(window.UsedAt(kStart), 3U);
  EXPECT_EQ(window.NextLeaves(), kStart + 2 * kWindow);
  EXPECT_EQ(window.UsedAt(kStart + 2 * kWindow - milliseconds(1)), 3U);
  EXPECT_EQ(window.UsedAt(kStart + 2 * kWindow), 0U);
}

TEST(GrantWindow, GivesNoNumberTwice) {
  GrantWindow window(kStart, kWindow, WindowKind::kFixed, 7);
  std::set<uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    window.Advance(kStart + i * milliseconds(100));
    EXPECT_TRUE(numbers.insert(window.Add()).second);
  }
}

TEST(GrantWindow, AnOldGrantCanBeGivenBackAfterManyOthers) {
  GrantWindow window(kStart, kWindow, WindowKind::kFixed, 1);
  const uint64_t kept = window.Add();
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(window.GiveBack(window.Add()));
  EXPECT_TRUE(window.GiveBack(kept));
  EXPECT_EQ(window.used(), 0u);
}

TEST(GrantWindow, ForgetsOldGrantsIfTooManyStretchesAreGivenBack) {
  GrantWindow window(kStart, kWindow, WindowKind::kFixed, 1);
  std::vector<uint64_t> kept;
  for (size_t i = 0; i <= GrantWindow::kMostGivenBack; ++i) {
    kept.push_back(window.Add());
    ASSERT_TRUE(window.GiveBack(window.Add()));
  }
  EXPECT_FALSE(window.GiveBack(kept.front()));
  EXPECT_TRUE(window.GiveBack(kept.back()));
  EXPECT_EQ(window.used(), kept.size() - 1);
}

TEST(GrantWindow, HoldsNoMoreThanBeforeIfItMayNotGrow) {
  for (const WindowKind kind : {WindowKind::kFixed, WindowKind::kSliding}) {
    GrantWindow window(kStart, kWindow, kind, 1);
    std::vector<uint64_t> grants;
    for (int i = 0; i < 6; ++i) grants.push_back(window.Add());
    const size_t bytes = window.more_bytes();
    EXPECT_TRUE(window.GiveBack(grants[1], false));
    EXPECT_FALSE(window.GiveBack(grants[1], false));
    EXPECT_FALSE(window.GiveBack(grants[0], false)) << "it stays counted";
    EXPECT_TRUE(window.GiveBack(grants[3], false));
    EXPECT_EQ(window.more_bytes(), bytes);
    EXPECT_EQ(window.used(), 4u);
    EXPECT_TRUE(window.GiveBack(grants[4]));
    EXPECT_GT(window.more_bytes(), bytes);
    EXPECT_LE(window.more_bytes(), bytes + GrantWindow::kMostGrowth);
  }
}

TEST(GrantWindow, KeepsItsCountsWhenItsLengthChanges) {
  for (const WindowKind kind : {WindowKind::kFixed, WindowKind::kSliding}) {
    GrantWindow window(kStart, kWindow, WindowKind::kSliding, 1);
    window.Add();
    window.Add();
    window.Change(kStart + milliseconds(5), kWindow * 10, kind);
    EXPECT_EQ(window.used(), 2u);
    window.Advance(kStart + kWindow * 9);
    EXPECT_EQ(window.used(), 2u);
    window.Advance(kStart + kWindow * 12);
    EXPECT_EQ(window.used(), 0u);
  }
}

}  // namespace
}  // namespace weir
