// Rules of retention remove exactly the events that they name, once these are old.
#include "relay/retention/age_sweep.h"

#include <map>
#include <random>
#include <set>

#include "tests/relay/retention/retention_suite.h"

namespace weir {
namespace {

TEST_P(RetentionSuite, ARuleRemovesOldEventsOfItsKinds) {
  const PlainEvent young = Plain(Author(1), kNow - 29 * kDay, 7);
  const PlainEvent other = Plain(Author(1), kNow - 31 * kDay, 1);
  Save({young, Plain(Author(1), kNow - 30 * kDay, 7), Plain(Author(2), kNow - 31 * kDay, 7), other});
  RetentionRules rules;
  rules.remove = {{.kinds = Kinds({7}), .older_than_s = 30 * kDay}};
  std::map<size_t, uint64_t> removed;
  AgeSweep sweep(Parts());
  ASSERT_TRUE(sweep.Run(rules, kNow, [&](size_t rule, uint64_t events) { removed[rule] += events; }).ok());
  EXPECT_EQ(removed[0], 2U);
  EXPECT_EQ(Stored(), (std::vector<std::string>{young.id, other.id}));
  ASSERT_TRUE(sweep.Run(rules, kNow + kDay, [&](size_t rule, uint64_t events) { removed[rule] += events; }).ok());
  EXPECT_EQ(removed[0], 3U);
  EXPECT_TRUE(IsSound());
}

TEST_P(RetentionSuite, RemovesThousandsInBoundedPieces) {
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < 5000; ++n) events.push_back(Plain(Author(n % 7), kNow - kDay - n, 7));
  events.push_back(Plain(Author(1), kNow, 7));
  Save(events);
  size_t most = 0;
  SweepParts parts = Parts();
  parts.remove = [this, &most](std::span<const EventId> ids) {
    most = std::max(most, ids.size());
    return commit_->RemoveBulk(ids);
  };
  RetentionRules rules;
  rules.remove = {{.older_than_s = kDay}};
  ASSERT_TRUE(AgeSweep(parts).Run(rules, kNow, [](size_t, uint64_t) {}).ok());
  EXPECT_EQ(store_->Sizes().events, 1U);
  EXPECT_LE(most, kRemovedTogether);
}

// Random events and rules, against the rule itself asked about every event.
TEST_P(RetentionSuite, RemovesWhatTheOracleRemoves) {
  constexpr std::array<uint16_t, 6> kRegularKinds{1, 2, 4, 6, 7, 8};  // the store replaces none of these
  std::mt19937_64 random(11);
  for (uint64_t author = 0; author < 10; ++author) rungs_[Author(author)] = static_cast<Rung>(random() % kRungs);
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < 1000; ++n)
    events.push_back(Plain(Author(random() % 10), kNow - random() % (100 * kDay), kRegularKinds[random() % 6], {},
                           std::to_string(n)));
  Save(events);
  RetentionRules rules;
  rules.keep = {{.kinds = Kinds({1, 2}), .from = Rung::kRegular}, {.authors = KeySet({ToBytes(Author(3))})}};
  rules.remove = {{.kinds = Kinds({7}), .older_than_s = 10 * kDay},
                  {.authors = KeySet({ToBytes(Author(5))}), .older_than_s = kDay},
                  {.kinds = Kinds({1, 2, 4}), .below = Rung::kRegular, .older_than_s = 30 * kDay},
                  {.older_than_s = 90 * kDay}};
  rules.remove[1].kinds.Add(0, 65535);
  std::set<std::string> expected;
  std::map<size_t, uint64_t> expected_removed;
  for (const PlainEvent& event : events) {
    const Event record = ToEvent(event);
    const auto by = rules.RemovedBy(record.view(), RungOf(event.pubkey), kNow);
    by ? (void)++expected_removed[*by] : (void)expected.insert(event.id);
  }
  std::map<size_t, uint64_t> removed;
  ASSERT_TRUE(AgeSweep(Parts()).Run(rules, kNow, [&](size_t rule, uint64_t n) { removed[rule] += n; }).ok());
  const std::vector<std::string> stored = Stored();
  EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end()), expected);
  EXPECT_EQ(removed, expected_removed);
  EXPECT_EQ(removed.size(), 4U) << "each rule removes something";
  EXPECT_TRUE(IsSound());
}

TEST(AgeSweep, PausesTwentyTimesAsLongAsItTookButADayAtMost) {
  EXPECT_EQ(AgeSweep::PauseAfter(std::chrono::milliseconds(1)), AgeSweep::kRunEvery);
  EXPECT_EQ(AgeSweep::PauseAfter(std::chrono::minutes(5)), std::chrono::minutes(100));
  EXPECT_EQ(AgeSweep::PauseAfter(std::chrono::hours(5)), AgeSweep::kLongestPause);
}

}  // namespace
}  // namespace weir
