#include "throttle/fair_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace weir {
namespace {

constexpr uint64_t kKib = 1024;

// Fair queueing by a shared virtual clock, as in the textbook: slow, and easy to believe.
class ReferenceQueue {
 public:
  void Push(const Waiter* waiter) {
    const auto known = std::ranges::find(lines_, waiter->party.id, &Line::party);
    Line& line = known != lines_.end() ? *known : lines_.emplace_back(Line{.party = waiter->party.id});
    if (line.waiters.empty()) {
      line.served = std::max(line.served, now_);
      line.number = ++joined_;
    }
    line.waiters.push_back(waiter);
  }

  void Remove(const Waiter* waiter) {
    Line& line = *std::ranges::find(lines_, waiter->party.id, &Line::party);
    const bool gives_up = line.waiters.front() == waiter;
    std::erase(line.waiters, waiter);
    if (!gives_up) return;
    const std::deque<const Waiter*> others = std::exchange(line.waiters, {});
    line.served = std::max({line.served, now_, empty() ? 0 : First().served});
    line.waiters = others;
    line.number = ++joined_;
    Forget();
  }

  const Waiter* Front() { return First().waiters.front(); }

  void PopServed() {
    Line& line = First();
    const uint64_t bytes = line.waiters.front()->bytes;
    line.served = Done(line);
    line.number = ++joined_;
    line.waiters.pop_front();
    undivided_ += bytes;
    now_ += undivided_ / lines_.size();
    undivided_ %= lines_.size();
    Forget();
  }

  bool empty() const {
    return std::ranges::all_of(lines_, [](const Line& line) { return line.waiters.empty(); });
  }
  uint64_t PartiesBut(uint64_t party) const {
    return static_cast<uint64_t>(
        std::ranges::count_if(lines_, [=](const Line& line) { return line.party != party && !line.waiters.empty(); }));
  }

 private:
  struct Line {
    uint64_t party;
    std::deque<const Waiter*> waiters;
    uint64_t served = 0;
    uint64_t number = 0;
  };

  static uint64_t Done(const Line& line) {
    return line.waiters.empty() ? UINT64_MAX : line.served + line.waiters.front()->bytes;
  }
  Line& First() {
    return *std::ranges::min_element(lines_, {}, [](const Line& line) { return std::pair(Done(line), line.number); });
  }
  // Forgets idle lines that the others have caught up with; all lines if no request waits.
  void Forget() {
    const bool all = empty();
    std::erase_if(lines_, [&](const Line& line) { return line.waiters.empty() && (all || line.served <= now_); });
  }

  std::deque<Line> lines_;
  uint64_t now_ = 0;
  uint64_t undivided_ = 0;
  uint64_t joined_ = 0;
};

std::unique_ptr<Waiter> MakeWaiter(uint64_t party, uint64_t bytes) {
  auto waiter = std::make_unique<Waiter>();
  waiter->party = {.id = party};
  waiter->bytes = bytes;
  return waiter;
}

// A queue that owns its waiters.
struct Owned {
  FairQueue queue;
  std::map<const Waiter*, std::unique_ptr<Waiter>> waiters;

  Waiter& Push(uint64_t party, uint64_t bytes, bool is_large = false) {
    auto waiter = MakeWaiter(party, bytes);
    waiter->is_large = is_large;
    Waiter& pushed = *waiter;
    waiters.emplace(&pushed, std::move(waiter));
    queue.Push(pushed);
    return pushed;
  }

  std::pair<uint64_t, uint64_t> Pop() { return Pop(*queue.Front()); }
  std::pair<uint64_t, uint64_t> Pop(Waiter& next) {
    const std::pair served(next.party.id, next.bytes);
    queue.PopServed(next);
    waiters.erase(&next);
    return served;
  }
};

TEST(FairQueue, HasNoTurnWhenEmpty) {
  FairQueue queue;
  EXPECT_EQ(queue.Front(), nullptr);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.BytesAhead({.id = 1}, kKib), 0U);
}

TEST(FairQueue, KeepsTheOrderWithinAParty) {
  Owned owned;
  for (uint64_t n = 1; n <= 100; ++n) owned.Push(7, n);
  for (uint64_t n = 1; n <= 100; ++n) EXPECT_EQ(owned.Pop().second, n);
}

TEST(FairQueue, GivesTheSameFrontUntilItChanges) {
  Owned owned;
  for (uint64_t party = 0; party < 5; ++party) owned.Push(party, 8 * kKib);
  Waiter* front = owned.queue.Front();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(owned.queue.Front(), front);
}

TEST(FairQueue, ANewcomerWaitsForTheOthersOfTheRoundButNotForAFlood) {
  Owned owned;
  for (int n = 0; n < 1000; ++n) owned.Push(1, 4 * kKib);
  owned.Push(2, 4 * kKib);
  EXPECT_EQ(owned.Pop().first, 1U);
  EXPECT_EQ(owned.Pop().first, 2U);
}

TEST(FairQueue, SharesEquallyWhileOneOfTenAsksTenTimesAsMuch) {
  Owned owned;
  std::map<uint64_t, double> served;
  for (int round = 0; round < 2000; ++round) {
    for (uint64_t party = 0; party < 10; ++party) {
      // The greedy party asks in many small pieces, which must not help it either.
      for (int n = 0; n < (party == 0 ? 40 : 1); ++n) owned.Push(party, party == 0 ? kKib : 4 * kKib);
    }
    // Serves less than they ask for, so that all wait all the time.
    for (int n = 0; n < 10; ++n) {
      const auto [party, bytes] = owned.Pop();
      served[party] += static_cast<double>(bytes);
    }
  }
  double sum = 0;
  double squares = 0;
  for (const auto& [party, bytes] : served) {
    sum += bytes;
    squares += bytes * bytes;
  }
  EXPECT_GE(sum * sum / (10 * squares), 0.95) << "Jain's index";
  while (!owned.queue.empty()) owned.Pop();
}

TEST(FairQueue, SharesInBytesAndNotInRequests) {
  Owned owned;
  for (int n = 0; n < 200; ++n) owned.Push(1, 64 * kKib);
  for (int n = 0; n < 200 * 64; ++n) owned.Push(2, kKib);
  std::map<uint64_t, uint64_t> served;
  for (uint64_t total = 0; total < 12'800 * kKib;) {
    const auto [party, bytes] = owned.Pop();
    served[party] += bytes;
    total += bytes;
  }
  EXPECT_NEAR(static_cast<double>(served[1]) / static_cast<double>(served[2]), 1, 0.05);
  while (!owned.queue.empty()) owned.Pop();
}

TEST(FairQueue, RequestsOfAnySizeAreServed) {
  constexpr uint64_t kLargest = uint64_t{1} << 40;  // the largest request that the gate admits
  Owned owned;
  for (uint64_t party = 0; party < 3; ++party) {
    for (uint64_t bytes : {uint64_t{0}, kLargest, uint64_t{1}, kLargest}) owned.Push(party, bytes);
  }
  EXPECT_GE(owned.queue.BytesAhead({.id = 99}, kLargest), 3 * kLargest);
  EXPECT_LE(owned.queue.BytesAhead({.id = 0}, kLargest), 6 * kLargest + 3);
  for (int n = 0; n < 12; ++n) owned.Pop();
  EXPECT_TRUE(owned.queue.empty());
}

// With a quantum as large as the largest request, a read of 70 MB let 1,065 others go before the victim.
TEST(FairQueue, ALargeRequestDelaysNoOtherParty) {
  Owned owned;
  owned.Push(1, 70'000 * kKib);
  for (int n = 0; n < 2000; ++n) owned.Push(2, 64 * kKib);
  owned.Push(3, 64 * kKib);
  EXPECT_EQ(owned.Pop().first, 2U);
  EXPECT_EQ(owned.Pop().first, 3U) << "the victim";
  uint64_t before = 64 * kKib;
  for (auto [party, bytes] = owned.Pop(); party != 1; std::tie(party, bytes) = owned.Pop()) before += bytes;
  EXPECT_NEAR(static_cast<double>(before), 70'000.0 * kKib, 64.0 * kKib)
      << "and it has its turn when the other had as much";
  while (!owned.queue.empty()) owned.Pop();
}

TEST(FairQueue, ManySmallRequestsAtOnceGetNoMoreThanOneLargeOne) {
  Owned owned;
  for (int n = 0; n < 256; ++n) owned.Push(1, 4 * kKib);
  owned.Push(2, 128 * kKib);
  int of_one = 0;
  while (owned.Pop().first == 1) ++of_one;
  EXPECT_EQ(of_one, 31) << "128 KiB of the one, less the last, then the 128 KiB of the other";
  while (!owned.queue.empty()) owned.Pop();
}

TEST(FairQueue, AnAbandonedLargeRequestLeavesNoCredit) {
  Owned owned;
  Waiter& large = owned.Push(1, 1000 * kKib);
  for (int n = 0; n < 100; ++n) owned.Push(1, 4 * kKib);
  for (int n = 0; n < 400; ++n) owned.Push(2, 4 * kKib);
  for (int n = 0; n < 200; ++n) EXPECT_EQ(owned.Pop().first, 2U);
  owned.queue.Remove(large);
  owned.waiters.erase(&large);
  std::map<uint64_t, int> served;
  for (int n = 0; n < 20; ++n) ++served[owned.Pop().first];
  EXPECT_EQ(served[1], 10);
  while (!owned.queue.empty()) owned.Pop();
}

// While all wait, the service of two parties differs by at most the largest request of each.
RC_GTEST_PROP(FairQueueProperty, ServesAllWaitingPartiesAlike, ()) {
  Owned owned;
  const auto largest = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<uint64_t>>(rc::gen::element<uint64_t>(100, 4 * kKib, 128 * kKib, 70'000 * kKib)));
  std::vector<uint64_t> served(largest.size(), 0);
  const auto push = [&](uint64_t party) { owned.Push(party, *rc::gen::inRange<uint64_t>(1, largest[party] + 1)); };
  for (uint64_t party = 0; party < largest.size(); ++party) push(party);
  for (int n = 0; n < 100; ++n) {
    push(owned.queue.Front()->party.id);  // keeps its line from ending
    const auto [party, bytes] = owned.Pop();
    served[party] += bytes;
    for (size_t a = 0; a < served.size(); ++a)
      for (size_t b = 0; b < served.size(); ++b) RC_ASSERT(served[a] <= served[b] + largest[a] + largest[b]);
  }
  while (!owned.queue.empty()) owned.Pop();
}

TEST(FairQueue, OffersTheNextSmallOneBesideALargeFront) {
  Owned owned;
  Waiter& large = owned.Push(1, 10 * kKib, /*is_large=*/true);
  EXPECT_EQ(owned.queue.FrontSmall(), nullptr);
  owned.Push(1, kKib);
  EXPECT_EQ(owned.queue.FrontSmall(), nullptr) << "it waits behind the large one of its party";
  Waiter& small = owned.Push(2, 20 * kKib);
  Waiter& later = owned.Push(3, 30 * kKib);
  ASSERT_EQ(owned.queue.Front(), &large);
  ASSERT_EQ(owned.queue.FrontSmall(), &small);
  owned.queue.PopServed(small);
  EXPECT_EQ(owned.queue.Front(), &large);
  ASSERT_EQ(owned.queue.FrontSmall(), &later);
  owned.queue.PopServed(large);
  EXPECT_EQ(owned.queue.FrontSmall()->party.id, 1U) << "no longer behind the large one";
  owned.queue.Remove(*owned.queue.FrontSmall());
  EXPECT_EQ(owned.queue.FrontSmall(), &later);
  owned.queue.Remove(later);
  EXPECT_EQ(owned.queue.FrontSmall(), nullptr);
}

TEST(FairQueue, CountsNothingAheadThatIsPaidAlready) {
  Owned owned;
  Waiter& first = owned.Push(1, 10 * kKib);
  owned.Push(2, 30 * kKib);
  EXPECT_EQ(owned.queue.BytesAhead({.id = 1}, 0), 20 * kKib);
  owned.queue.Pay(first, 9 * kKib);
  EXPECT_EQ(first.paid, 9 * kKib);
  EXPECT_EQ(owned.queue.BytesAhead({.id = 1}, 0), 2 * kKib);
  EXPECT_EQ(owned.queue.BytesAhead({.id = 3}, 100 * kKib), 31 * kKib);
  owned.queue.Remove(first);
  EXPECT_EQ(owned.queue.BytesAhead({.id = 3}, 100 * kKib), 30 * kKib);
}

TEST(FairQueue, ALargeOneThatHasNearlyPaidComesBeforeALaterOne) {
  Owned owned;
  Waiter& first = owned.Push(1, 100 * kKib, /*is_large=*/true);
  owned.queue.Pay(first, 90 * kKib);
  owned.Push(2, 50 * kKib, /*is_large=*/true);
  EXPECT_EQ(owned.queue.Front(), &first);
  owned.Push(3, 9 * kKib, /*is_large=*/true);
  EXPECT_EQ(owned.Pop(), std::pair(uint64_t{3}, 9 * kKib)) << "it asks for less than the first has still to pay";
  EXPECT_EQ(owned.Pop(), std::pair(uint64_t{1}, 100 * kKib));
}

class Grouped : public Owned {
 public:
  Waiter& PushTo(uint64_t group, uint64_t party, uint64_t bytes, bool is_large = false) {
    auto waiter = MakeWaiter(party, bytes);
    waiter->party.group = group;
    waiter->is_large = is_large;
    queue.Push(*waiter);
    Waiter* pushed = waiter.get();
    waiters.emplace(pushed, std::move(waiter));
    return *pushed;
  }
};

TEST(FairQueue, TheConnectionsOfOneAddressShareOnePart) {
  Grouped grouped;
  for (int n = 0; n < 1000; ++n) {
    for (uint64_t connection = 1; connection <= 10; ++connection) grouped.PushTo(7, connection, 4 * kKib);
    grouped.PushTo(8, 20, 4 * kKib);
    grouped.PushTo(0, 30, 4 * kKib);
  }
  std::map<uint64_t, int> served;
  for (int n = 0; n < 900; ++n) ++served[grouped.Pop().first];
  EXPECT_EQ(served[20], 300);
  EXPECT_EQ(served[30], 300);
  for (uint64_t connection = 1; connection <= 10; ++connection) EXPECT_EQ(served[connection], 30);
  while (!grouped.queue.empty()) grouped.Pop();
}

TEST(FairQueue, AGroupIsNotTheLonerWithItsNumber) {
  Grouped grouped;
  for (int n = 0; n < 10; ++n) grouped.PushTo(5, 1, 4 * kKib);
  for (int n = 0; n < 10; ++n) grouped.PushTo(0, 5, 4 * kKib);
  EXPECT_EQ(grouped.queue.BytesAhead({.id = 9}, 4 * kKib), 8 * kKib) << "as much of each";
  EXPECT_EQ(grouped.queue.BytesAhead({.id = 9, .group = 5}, 4 * kKib), 12 * kKib) << "and once more in the group";
  for (int n = 0; n < 10; ++n) {
    EXPECT_EQ(grouped.Pop().first, 1U);
    EXPECT_EQ(grouped.Pop().first, 5U);
  }
}

RC_GTEST_PROP(FairQueueProperty, ServesEveryoneOfEveryGroupOnceAndInOrder, ()) {
  Grouped grouped;
  std::map<std::pair<uint64_t, uint64_t>, std::deque<const Waiter*>> lines;
  size_t waiting = 0;
  for (int n = *rc::gen::inRange(1, 200); n > 0 || waiting > 0; --n) {
    if (n > 0 && *rc::gen::inRange(0, 3) > 0) {
      const auto group = *rc::gen::inRange<uint64_t>(0, 4);
      const auto party = *rc::gen::inRange<uint64_t>(0, 4);
      const auto bytes = *rc::gen::inRange<uint64_t>(0, 20'000);
      Waiter& pushed = grouped.PushTo(group, party, bytes, /*is_large=*/bytes > 15'000);
      lines[{group, party}].push_back(&pushed);
      ++waiting;
      continue;
    }
    if (waiting == 0) continue;
    Waiter* const small = grouped.queue.FrontSmall();
    RC_ASSERT((small != nullptr ? small : grouped.queue.Front())->is_large == (small == nullptr));
    Waiter* const next = small != nullptr && *rc::gen::arbitrary<bool>() ? small : grouped.queue.Front();
    auto& line = lines[{next->party.group, next->party.id}];
    if (n > 0 && *rc::gen::inRange(0, 4) == 0) {
      Waiter* gone = const_cast<Waiter*>(line.back());
      line.pop_back();
      grouped.queue.Remove(*gone);
      grouped.waiters.erase(gone);
    } else {
      RC_ASSERT(next == line.front());
      line.pop_front();
      grouped.Pop(*next);
    }
    RC_ASSERT(grouped.queue.size() == --waiting);
  }
  RC_ASSERT(grouped.queue.empty());
}

// The bytes served before a request that joins now, found by serving.
uint64_t TrueBytesAhead(ReferenceQueue reference, const Waiter* newcomer) {
  reference.Push(newcomer);
  uint64_t ahead = 0;
  while (reference.Front() != newcomer) {
    ahead += reference.Front()->bytes;
    reference.PopServed();
  }
  return ahead;
}

// Random pushes, removals from any place, and servings: the turns are the textbook's. The forecast is never more than
// all that waits, and too low by at most the largest request for each other party, which that party may have saved.
RC_GTEST_PROP(FairQueueProperty, TakesTurnsLikeTheTextbook, ()) {
  Owned owned;
  ReferenceQueue reference;
  std::vector<Waiter*> waiting;
  uint64_t waiting_bytes = 0;
  const auto parties = *rc::gen::inRange<uint64_t>(1, 8);
  const auto largest = *rc::gen::element<uint64_t>(10, 5000, 100'000);
  const auto forget = [&](const Waiter* w) {
    std::erase(waiting, w);
    waiting_bytes -= w->bytes;
  };
  for (int n = *rc::gen::inRange(1, 150); n > 0; --n) {
    const int what = *rc::gen::inRange(0, 10);
    if (what < 5 || waiting.empty()) {
      const auto party = *rc::gen::inRange<uint64_t>(0, parties);
      const auto bytes = *rc::gen::inRange<uint64_t>(0, largest + 1);
      const auto newcomer = MakeWaiter(party, bytes);
      const uint64_t ahead = TrueBytesAhead(reference, newcomer.get());
      const uint64_t others = reference.PartiesBut(party);
      RC_ASSERT(owned.queue.BytesAhead({.id = party}, bytes) + others * largest >= ahead);
      RC_ASSERT(owned.queue.BytesAhead({.id = party}, bytes) <= waiting_bytes);
      Waiter& pushed = owned.Push(party, bytes);
      reference.Push(&pushed);
      waiting.push_back(&pushed);
      waiting_bytes += bytes;
    } else if (what < 7) {
      Waiter* gone = waiting[*rc::gen::inRange<size_t>(0, waiting.size())];
      owned.queue.Remove(*gone);
      reference.Remove(gone);
      forget(gone);
      owned.waiters.erase(gone);
    } else {
      const Waiter* front = owned.queue.Front();
      RC_ASSERT(front == reference.Front());
      reference.PopServed();
      forget(front);
      owned.Pop();
    }
    RC_ASSERT(owned.queue.size() == waiting.size());
    RC_ASSERT(owned.queue.empty() == waiting.empty());
  }
  while (!waiting.empty()) {
    const Waiter* front = owned.queue.Front();
    RC_ASSERT(front == reference.Front());
    reference.PopServed();
    forget(front);
    owned.Pop();
  }
}

}  // namespace
}  // namespace weir
