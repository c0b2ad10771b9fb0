#include "throttle/fair_turns.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

constexpr uint64_t kMuch = 1'000'000;
constexpr uint64_t kLittle = 60'000;
constexpr uint64_t kKnown = 1'000'000'000;  // the key of a line that asks for little

struct Request {
  uint64_t asks = 0;
  uint64_t costs = 0;
  uint64_t since = 0;
};

struct OwnLine : FairLine {
  uint64_t key = 0;
  std::deque<Request> waiting;
};

// A server whose clock is the work that it has done.
class Server {
 public:
  explicit Server(uint64_t most_credit = 0) : lines_(most_credit) {}

  void Ask(uint64_t key, uint64_t asks) { Ask(key, asks, asks); }
  void Ask(uint64_t key, uint64_t asks, uint64_t costs) {
    OwnLine& line = lines_.Find(key);
    line.waiting.push_back({asks, costs, time_});
    lines_.turns().Wait(line, line.waiting.front().asks);
  }

  uint64_t ServeOne() {
    OwnLine& line = lines_.Next();
    const Request request = line.waiting.front();
    const uint64_t key = line.key;
    line.waiting.pop_front();
    lines_.turns().Begin(line, request.asks);
    if (!line.waiting.empty()) lines_.turns().Wait(line, line.waiting.front().asks);
    if (key == kKnown) waits_.push_back(time_ - request.since);
    time_ += request.costs;
    had_[key] += request.costs;
    lines_.End(line, request.asks, request.costs);
    return key;
  }

  void Idle(uint64_t time) { time_ += time; }

  std::string ServeAll() {
    std::string order;
    while (!empty()) order += std::to_string(ServeOne());
    return order;
  }

  bool empty() const { return lines_.turns().empty(); }
  size_t waiting() const { return lines_.turns().waiting(); }
  size_t lines() const { return lines_.size(); }
  uint64_t time() const { return time_; }
  uint64_t had(uint64_t key) const {
    const auto found = had_.find(key);
    return found == had_.end() ? 0 : found->second;
  }
  // For the line that asks for little: the longest wait of its requests, and how many were served.
  uint64_t longest_wait() const { return waits_.empty() ? 0 : *std::ranges::max_element(waits_); }
  size_t served() const { return waits_.size(); }

 private:
  FairLines<OwnLine> lines_;
  uint64_t time_ = 0;
  std::map<uint64_t, uint64_t> had_;
  std::vector<uint64_t> waits_;
};

// Until `end`, the known line asks for little once per 25 ms of a core. After each turn `others` gets the key that was
// served.
template <typename Others>
void Serve(Server& server, uint64_t end, Others others) {
  uint64_t next = 0;
  others(kKnown);
  while (server.time() < end) {
    for (; next <= server.time(); next += 25 * kMuch) server.Ask(kKnown, kLittle);
    if (server.empty()) {
      server.Idle(kMuch / 10);
      others(kKnown);
    } else {
      others(server.ServeOne());
    }
  }
}

TEST(FairTurns, LittleGoesBeforeMuchAndEqualsInTheOrderOfAsking) {
  Server server;
  for (uint64_t key = 1; key <= 5; ++key) server.Ask(key, kMuch);
  server.Ask(6, kLittle);
  EXPECT_EQ(server.ServeAll(), "612345");
}

TEST(FairTurns, SmallAndLargeRequestsGetEqualPartsOfTheWork) {
  Server server;
  for (int n = 0; n < 10; ++n) server.Ask(1, 4);
  for (int n = 0; n < 40; ++n) server.Ask(2, 1);
  while (server.had(1) < 20) server.ServeOne();
  EXPECT_NEAR(static_cast<double>(server.had(2)), 20, 4);
}

TEST(FairTurns, ATurnIsChargedItsActualCostNotTheAskedOne) {
  Server server;
  for (int n = 0; n < 3; ++n) server.Ask(1, 10, 100);
  for (int n = 0; n < 30; ++n) server.Ask(2, 10);
  while (server.had(1) < 200) server.ServeOne();
  EXPECT_EQ(server.had(2), 100U);
}

// Otherwise a line that asks for one thing at a time would always be first.
TEST(FairTurns, ALineThatWasAwayKeepsItsPlace) {
  Server server;
  server.Ask(1, 40);
  for (int n = 0; n < 9; ++n) server.Ask(2, 10);
  while (server.had(1) == 0) server.ServeOne();
  server.Ask(1, 10);
  server.Ask(3, 10);
  std::string order;
  for (int n = 0; n < 3; ++n) order += std::to_string(server.ServeOne());
  EXPECT_EQ(order, "231") << "the new one begins where the second one is";
}

// Before, an endless stream of strangers was always ahead of lines that had been served.
TEST(FairTurns, ANewLineIsNotAheadOfExistingLines) {
  Server server;
  for (int n = 0; n < 50; ++n) server.Ask(1, kMuch);
  for (uint64_t stranger = 10; stranger < 1000; ++stranger) {
    server.Ask(stranger, kMuch);
    server.ServeOne();
  }
  EXPECT_GE(server.had(1), 20 * kMuch) << "as much as each of those who wait";
}

TEST(FairTurns, AStreamOfNewLinesDelaysNoSmallRequest) {
  for (const double load : {0.9, 1.3, 3.0}) {
    Server server;
    uint64_t strangers = 0;
    Serve(server, 30'000 * kMuch, [&](uint64_t) {
      while (static_cast<double>(strangers * kMuch) <= load * static_cast<double>(server.time()))
        server.Ask(strangers++, kMuch);
    });
    EXPECT_GE(server.served(), 1'190U);
    EXPECT_LE(server.longest_wait(), 8 * kMuch) << load;
  }
}

TEST(FairTurns, ManyLargeRequestsDelayNoSmallRequest) {
  for (const uint64_t many : {10U, 64U, 65U, 250U, 10'000U}) {
    Server server;
    for (uint64_t key = 0; key < many; ++key) server.Ask(key, kMuch);
    Serve(server, 30'000 * kMuch, [&](uint64_t last) {
      if (last != kKnown) server.Ask(last, kMuch);
    });
    EXPECT_GE(server.served(), 1'190U);
    EXPECT_LE(server.longest_wait(), 8 * kMuch) << many;
  }
}

// Otherwise a line could promise little and take much.
TEST(FairTurns, ALinePaysForTakingMoreThanItAskedFor) {
  Server server;
  for (uint64_t key = 0; key < 100; ++key) server.Ask(key, 1000, kMuch);
  Serve(server, 30'000 * kMuch, [&](uint64_t last) {
    if (last != kKnown) server.Ask(last, 1000, kMuch);
  });
  EXPECT_GE(server.served(), 1'190U);
  EXPECT_LE(server.longest_wait(), 110 * kMuch) << "once, when they are new";
}

TEST(FairTurns, LargeRequestsGetEqualPartsAndAQuarterInACrowd) {
  for (const uint64_t many : {3U, 64U, 250U}) {
    Server server;
    for (uint64_t key = 0; key < many; ++key)
      for (int n = 0; n < 200; ++n) server.Ask(key, kMuch / (1 + key % 3));
    while (server.time() < 40 * many * kMuch) server.ServeOne();
    uint64_t least = UINT64_MAX;
    for (uint64_t key = 0; key < many; ++key) least = std::min(least, server.had(key));
    EXPECT_GE(least, (many <= FairTurns::kShares ? 38 : 10) * kMuch) << many;
  }
}

// Holds even if many lines ask for little all the time.
TEST(FairTurns, ACrowdIsServedToo) {
  Server server;
  for (uint64_t key = 0; key < 300; ++key) server.Ask(key, kMuch);
  uint64_t strangers = 1000;
  uint64_t of_crowd = 0;
  while (of_crowd < 300 * kMuch) {
    while (server.waiting() < 400) server.Ask(strangers++, kLittle);
    if (server.ServeOne() < 300) of_crowd += kMuch;
    ASSERT_LE(server.time(), 2 * FairTurns::kPatience * 300 * kMuch);
  }
}

// Serves a crowd of lines that always wait, and the known line, which asks for a page of four requests every `pause`.
void ServePages(Server& server, uint64_t many, uint64_t pause, uint64_t end) {
  for (uint64_t key = 0; key < many; ++key) server.Ask(key, kMuch / 5);
  // The known line is known before its first page.
  server.Ask(kKnown, kLittle);
  for (uint64_t next = pause; server.time() < end;) {
    const uint64_t last = server.ServeOne();
    if (last != kKnown) server.Ask(last, kMuch / 5);
    if (server.time() < next) continue;
    for (int n = 0; n < 4; ++n) server.Ask(kKnown, kMuch);
    next += pause;
  }
}

TEST(FairTurns, ALineThatUsesLessThanItsPartDoesNotWaitForACrowdWhenItAsksForMore) {
  for (const uint64_t many : {10U, 65U, 150U, 2'000U}) {
    Server with(4 * kMuch);
    ServePages(with, many, 2'000 * kMuch, 60'000 * kMuch);
    EXPECT_LE(with.longest_wait(), 5 * kMuch) << many;
    Server without;
    ServePages(without, many, 2'000 * kMuch, 60'000 * kMuch);
    if (many <= FairTurns::kShares) continue;
    EXPECT_GE(without.longest_wait(), 200 * kMuch) << many << ": what credit is for";
  }
}

// A line that asks for pages all the time gets no more than one that always waits.
TEST(FairTurns, CreditIsNoMoreThanWhatALineLeftToOthers) {
  for (const uint64_t many : {10U, 150U}) {
    Server server(4 * kMuch);
    ServePages(server, many, 10 * kMuch, 60'000 * kMuch);
    const uint64_t part = 60'000 * kMuch / std::min(many + 1, FairTurns::kShares);
    EXPECT_LE(server.had(kKnown), part + 5 * kMuch) << many;
  }
}

TEST(FairTurns, NewLinesHaveNoCredit) {
  Server server(100 * kMuch);
  server.Ask(1, kMuch);
  for (int n = 0; n < 50; ++n) server.Ask(2, kMuch);
  while (server.had(1) == 0) server.ServeOne();
  for (int n = 0; n < 20; ++n) server.ServeOne();
  server.Ask(3, kMuch);
  server.Ask(1, kMuch);
  EXPECT_EQ(server.ServeOne(), 1U) << "it left its turns to others meanwhile";
  server.Ask(1, 100 * kMuch);
  EXPECT_EQ(server.ServeOne(), 2U) << "the credit has an end";
  EXPECT_EQ(server.ServeOne(), 3U);
}

// Serves a thousand lines that always wait, and 5000 others that save up credit and then ask for it at once. Calls
// `at_once` when they have asked.
template <typename AtOnce>
void ServeThoseWhoSavedUp(Server& server, AtOnce at_once) {
  for (uint64_t key = 0; key < 1000; ++key) server.Ask(key, kMuch);
  for (uint64_t key = 1000; key < 6000; ++key) server.Ask(key, 1);
  while (server.time() < 2'000 * kMuch)
    if (const uint64_t last = server.ServeOne(); last < 1000) server.Ask(last, kMuch);
  for (uint64_t key = 1000; key < 6000; ++key)
    for (int n = 0; n < 4; ++n) server.Ask(key, kMuch);
  at_once();
}

// Otherwise a crowd that has waited for it could keep everybody from the server for a long time.
TEST(FairTurns, LinesThatSaveUpCreditTogetherDelayNoSmallRequestForLong) {
  Server server(4 * kMuch);
  ServeThoseWhoSavedUp(server, [&] { server.Ask(kKnown, kLittle); });
  while (server.served() == 0) server.ServeOne();
  EXPECT_LE(server.longest_wait(), (4 * FairTurns::kBurst + 8) * kMuch);
}

TEST(FairTurns, LinesThatSaveUpCreditLeaveTheCrowdItsPart) {
  Server server(4 * kMuch);
  uint64_t of_crowd = 0;
  uint64_t begin = 0;
  ServeThoseWhoSavedUp(server, [&] { begin = server.time(); });
  while (server.time() < begin + 6'000 * kMuch) {
    const uint64_t last = server.ServeOne();
    if (last < 1000) of_crowd += kMuch;
    server.Ask(last, kMuch);
  }
  EXPECT_GE(of_crowd, 6'000 * kMuch / FairTurns::kPatience * FairTurns::kFreePart / (1 + FairTurns::kFreePart));
}

TEST(FairTurns, RemembersFewOfTheLinesThatComeAndGo) {
  Server server;
  for (uint64_t key = 0; key < 100'000; ++key) {
    server.Ask(key, 1 + key % 7 * kMuch);
    if (server.waiting() > 100) server.ServeOne();
    ASSERT_LE(server.lines(), server.waiting() + 8 * FairTurns::kShares);
  }
  server.ServeAll();
  EXPECT_EQ(server.lines(), 0U);
}

// A line's position, less its credit, is what it was served, in any order of calls: with several turns of a line at
// once, requests that are replaced, turns that cost more or less than was asked for, and lines that are forgotten
// and come back.
RC_GTEST_PROP(FairTurnsProperty, EveryLineIsChargedExactlyWhatItWasServed, ()) {
  constexpr uint64_t kStart = 1'000'000'000;
  // Larger than all differences, so that no credit is lost.
  FairTurns turns(kStart);
  struct Turn {
    size_t of = 0;
    uint64_t asked = 0;
  };
  std::array<FairLine, 5> lines;
  std::array<uint64_t, 5> served{};
  std::vector<Turn> begun;
  // The positions begin far from zero, below which there is no position.
  FairLine first;
  turns.Add(first);
  turns.Wait(first, kStart);
  turns.Begin(first, kStart);
  turns.End(first, kStart, kStart);
  turns.Remove(first);
  for (FairLine& line : lines) turns.Add(line);
  const auto amount = [] { return *rc::gen::inRange<uint64_t>(0, 1000); };
  const auto end_one = [&](size_t n) {
    const Turn turn = begun[n];
    begun.erase(begun.begin() + static_cast<ptrdiff_t>(n));
    const uint64_t done = amount();
    turns.End(lines[turn.of], turn.asked, done);
    served[turn.of] += done;
  };
  const auto begin_next = [&] {
    FairLine& next = turns.Next();
    const auto of = static_cast<size_t>(&next - lines.data());
    begun.push_back({of, amount()});
    turns.Begin(next, begun.back().asked);
  };
  const auto forget_and_add = [&] {
    std::vector<std::pair<FairLine*, uint64_t>> forgotten;
    turns.ForgetThoseAway([&](FairLine& line) { forgotten.emplace_back(&line, FairTurns::PositionOf(line)); });
    for (const auto& [line, position] : forgotten) {
      *line = FairLine();
      turns.Add(*line, position);
    }
  };
  for (int step = *rc::gen::inRange(0, 200); step > 0; --step) {
    const auto of = *rc::gen::inRange<size_t>(0, lines.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        turns.Wait(lines[of], amount(),
                   *rc::gen::arbitrary<bool>() ? FairTurns::Sort::kFirst : FairTurns::Sort::kSecond);
        break;
      case 1:
        if (!turns.empty()) begin_next();
        break;
      case 2:
        if (!begun.empty()) end_one(*rc::gen::inRange<size_t>(0, begun.size()));
        break;
      case 3:
        if (!turns.empty()) forget_and_add();
    }
  }
  while (!turns.empty()) begin_next();
  while (!begun.empty()) end_one(begun.size() - 1);
  for (size_t of = 0; of < lines.size(); ++of) RC_ASSERT(FairTurns::PositionOf(lines[of]) == kStart + served[of]);
}

TEST(FairTurns, ALineThatGivesUpWhileItIsServedIsRememberedUntilTheEnd) {
  FairLines<OwnLine> lines;
  OwnLine& line = lines.Find(1);
  lines.turns().Wait(line, 10);
  lines.turns().Begin(line, 10);
  lines.turns().Wait(line, 20);
  lines.turns().GoOn(100);
  lines.GiveUp(line);
  ASSERT_EQ(lines.size(), 1U);
  lines.End(line, 10, 10);
  EXPECT_EQ(lines.size(), 0U);
}

TEST(FairTurns, TheSecondSortMayBeLeftOut) {
  FairTurns turns;
  FairLine a;
  FairLine b;
  turns.Add(a);
  turns.Add(b);
  turns.Wait(a, 1, FairTurns::Sort::kSecond);
  turns.Wait(b, 2);
  EXPECT_EQ(&turns.Next(), &a);
  EXPECT_EQ(&turns.Next(false), &b);
  turns.Wait(a, 1);
  EXPECT_EQ(&turns.Next(false), &a);
}

}  // namespace
}  // namespace weir
