// The disk budget takes the events of strangers first, and of these the ones that came first.
#include "relay/retention/budget_sweep.h"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "tests/relay/retention/retention_suite.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, RetentionSuite, EachStore(), NameOfStore);

uint64_t SumOf(const BudgetSweep::Swept& swept) {
  uint64_t sum = 0;
  for (const uint64_t events : swept.removed) sum += events;
  return sum;
}

TEST_P(RetentionSuite, StrangersGoFirstAndOfThemThoseThatCameFirst) {
  rungs_[Author(2)] = Rung::kRegular;
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < 200; ++n) events.push_back(Plain(Author(1 + n % 2), kNow - n, 1));  // dated backwards
  Save(events);
  BudgetSweep sweep(Parts());
  BudgetSweep::Swept swept;
  ASSERT_TRUE(sweep.Remove(40, {}, clock_.Now(), &swept).ok());
  EXPECT_EQ(swept.removed[static_cast<size_t>(Rung::kStranger)], 40U);
  EXPECT_FALSE(swept.nothing_left);
  std::vector<std::string> expected;
  for (size_t n = 0; n < events.size(); ++n)
    if (n % 2 == 1 || n >= 80) expected.push_back(events[n].id);
  EXPECT_EQ(Stored(), expected);
  EXPECT_TRUE(IsSound());
}

TEST_P(RetentionSuite, AFloodThatIsDatedBackTakesNoEventOfARegular) {
  rungs_[Author(2)] = Rung::kRegular;
  std::vector<PlainEvent> regulars;
  for (uint64_t n = 0; n < 100; ++n) regulars.push_back(Plain(Author(2), kNow - 1000 + n, 1));
  Save(regulars);
  BudgetSweep sweep(Parts());
  for (uint64_t round = 0; round < 5; ++round) {
    std::vector<PlainEvent> flood;
    for (uint64_t n = 0; n < 100; ++n) flood.push_back(Plain(Author(1000 + n), round * 1000 + n, 1));
    Save(flood);
    BudgetSweep::Swept swept;
    ASSERT_TRUE(sweep.Remove(80, {}, clock_.Now(), &swept).ok());
    EXPECT_EQ(SumOf(swept), 80U);
    EXPECT_EQ(swept.removed[static_cast<size_t>(Rung::kRegular)], 0U) << round;
  }
}

TEST_P(RetentionSuite, AGiftWrapForAMemberStandsAsANewcomers) {
  rungs_[Author(2)] = Rung::kTrusted;
  rungs_[Author(3)] = Rung::kNewcomer;
  rungs_[Author(4)] = Rung::kReported;
  uint64_t key = 1000;  // each is used once
  const auto wrap = [&key](uint64_t recipient) { return Plain(Author(++key), kNow, 1059, {{"p", Author(recipient)}}); };
  const PlainEvent for_member = wrap(2);
  const PlainEvent of_newcomer = Plain(Author(3), kNow, 1);
  const PlainEvent for_newcomer = wrap(3);
  const PlainEvent of_member = Plain(Author(2), kNow, 1);
  const PlainEvent reported_for_member = Plain(Author(4), kNow, 1059, {{"p", Author(2)}});
  const PlainEvent note_to_member = Plain(Author(5), kNow, 1, {{"p", Author(2)}});
  Save({for_member, of_newcomer, for_newcomer, wrap(6), wrap(4), reported_for_member, note_to_member, of_member});
  BudgetSweep sweep(Parts());
  BudgetSweep::Swept swept;
  ASSERT_TRUE(sweep.Remove(4, {}, clock_.Now(), &swept).ok());
  EXPECT_EQ(Stored(), (std::vector<std::string>{for_member.id, of_newcomer.id, for_newcomer.id, of_member.id}));
  ASSERT_TRUE(sweep.Remove(2, {}, clock_.Now(), &swept).ok());
  EXPECT_EQ(Stored(), (std::vector<std::string>{for_newcomer.id, of_member.id}));
}

TEST_P(RetentionSuite, WhatARuleKeepsStaysAndTheSweepSaysThatNothingIsLeft) {
  rungs_[Author(3)] = Rung::kTrusted;
  Save({Plain(Author(1), kNow, 0), Plain(Author(1), kNow, 1), Plain(Author(2), kNow, 1), Plain(Author(3), kNow, 1)});
  RetentionRules rules;
  rules.keep = {{.kinds = Kinds({0})}, {.from = Rung::kTrusted}};
  BudgetSweep sweep(Parts());
  BudgetSweep::Swept swept;
  ASSERT_TRUE(sweep.Remove(100, rules, clock_.Now(), &swept).ok());
  EXPECT_EQ(SumOf(swept), 2U);
  EXPECT_FALSE(swept.nothing_left);
  EXPECT_EQ(store_->Sizes().events, 2U);
  BudgetSweep::Swept again;
  ASSERT_TRUE(sweep.Remove(100, rules, clock_.Now(), &again).ok());
  EXPECT_TRUE(again.nothing_left);
  EXPECT_EQ(store_->Sizes().events, 2U);
}

TEST_P(RetentionSuite, AnAuthorWhoLosesStandingLosesOldEventsAfterADay) {
  rungs_[Author(1)] = rungs_[Author(2)] = Rung::kRegular;
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < 20; ++n) events.push_back(Plain(Author(1 + n % 2), kNow + n, 1));
  Save(events);
  BudgetSweep sweep(Parts());
  BudgetSweep::Swept swept;
  ASSERT_TRUE(sweep.Remove(1, {}, clock_.Now(), &swept).ok());
  EXPECT_EQ(swept.removed[static_cast<size_t>(Rung::kRegular)], 1U);
  rungs_[Author(2)] = Rung::kReported;
  clock_.Advance(BudgetSweep::kBeginAgainAfter);
  ASSERT_TRUE(sweep.Remove(9, {}, clock_.Now(), &swept).ok());
  EXPECT_EQ(swept.removed[static_cast<size_t>(Rung::kReported)], 9U);
}

// The order of all events by an obvious reference: spared or not, rung, arrival.
TEST_P(RetentionSuite, RemovesInTheOrderOfTheOracle) {
  constexpr uint64_t kEvents = 400;
  constexpr std::array<uint16_t, 3> kRegularKinds{1, 2, 4};  // the store replaces none of these
  std::mt19937_64 random(7);
  for (uint64_t author = 0; author < 12; ++author) rungs_[Author(author)] = static_cast<Rung>(random() % kRungs);
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < kEvents; ++n)
    events.push_back(
        Plain(Author(random() % 12), kNow - random() % 100'000, kRegularKinds[random() % 3], {}, std::to_string(n)));
  Save(events);
  RetentionRules rules;
  rules.keep = {{.kinds = Kinds({4})}};
  std::vector<std::tuple<bool, Rung, uint64_t>> order;
  for (uint64_t n = 0; n < kEvents; ++n)
    if (events[n].kind != 4) order.emplace_back(n >= kEvents - kEvents / 10, RungOf(events[n].pubkey), n);
  std::ranges::sort(order);
  std::set<std::string> expected;
  for (const PlainEvent& event : events) expected.insert(event.id);
  const size_t count = order.size() * 19 / 20;
  for (size_t i = 0; i < count; ++i) expected.erase(events[std::get<2>(order[i])].id);
  BudgetSweep sweep(Parts());
  BudgetSweep::Swept swept;
  ASSERT_TRUE(sweep.Remove(count, rules, clock_.Now(), &swept).ok());
  EXPECT_EQ(SumOf(swept), count);
  const std::vector<std::string> stored = Stored();
  EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end()), expected);
  EXPECT_TRUE(IsSound());
}

}  // namespace
}  // namespace weir
