// The parts of a census that need no store.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "relay/store/census/arrivals.h"
#include "relay/store/census/kind_counts.h"
#include "relay/store/census/largest.h"
#include "tests/fixtures/plain_event.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'767'225'600;  // 2026-01-01

TEST(Sample, OfAllEventsHasNoError) {
  Sample sample;
  sample.Add(100, 5);
  sample.Add(300, 7);
  const Amount amount = sample.Of(2, 2);
  EXPECT_EQ(amount.record_bytes, 400);
  EXPECT_EQ(amount.entries, 12);
  EXPECT_EQ((Price{1, 1}.ErrorBytes(amount)), 0);
}

TEST(Sample, OfOneEventIsAsUncertainAsItIsLarge) {
  Sample sample;
  sample.Add(100, 0);
  EXPECT_NEAR((Price{1, 1}.ErrorBytes(sample.Of(1'000, 1'000'000))), 2 * 100'000, 1'000);
}

TEST(Sample, TheErrorHoldsForNineteenOfTwentySamples) {
  std::minstd_rand random(1);
  std::lognormal_distribution<double> sizes(6, 1);
  constexpr int kEvents = 2'000;
  constexpr int kSampled = 100;
  const Price price{0.5, 20};
  int within = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<double, double>> events;
    Sample all;
    for (int i = 0; i < kEvents; ++i) {
      const double bytes = sizes(random);
      events.emplace_back(bytes, std::floor(bytes / 100));
      all.Add(events.back().first, events.back().second);
    }
    std::shuffle(events.begin(), events.end(), random);
    Sample sample;
    for (int i = 0; i < kSampled; ++i) sample.Add(events[i].first, events[i].second);
    const Amount estimate = sample.Of(kEvents, kEvents);
    const double off = std::abs(price.DiskBytes(estimate) - price.DiskBytes(all.Of(kEvents, kEvents)));
    within += off <= price.ErrorBytes(estimate) ? 1 : 0;
  }
  EXPECT_GE(within, 175);
}

RC_GTEST_PROP(Largest, KeepsTheHeaviest, (const std::vector<uint16_t>& weights)) {
  const auto most = *rc::gen::inRange<size_t>(0, 20);
  Largest<uint16_t> largest(most);
  for (const uint16_t weight : weights) largest.Add(weight, weight);
  std::vector<uint16_t> sorted = weights;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (sorted.size() > most) sorted.resize(most);
  RC_ASSERT(std::move(largest).Take() == sorted);
}

TEST(Arrivals, AnEventCameAtTheLatestTimeBeforeIt) {
  constexpr uint64_t kDay = kNow / kDaySeconds;
  Arrivals arrivals(6, kNow);
  arrivals.AddEvent(1, kNow - 3 * kDaySeconds);
  arrivals.AddEvent(2, 5);                         // dated back
  arrivals.AddEvent(3, kNow + 100 * kDaySeconds);  // dated forward: says nothing
  arrivals.AddEvent(5, kNow - 1 * kDaySeconds);
  arrivals.AddEvent(6, kNow - 2 * kDaySeconds);
  arrivals.AddEvent(7, kNow);  // beyond the last
  Sample sample;
  sample.Add(100, 5);
  arrivals.Measure(sample, 1);
  std::map<uint64_t, Amount> days;
  arrivals.AddTo(&days);
  ASSERT_EQ(days.size(), 2U);
  EXPECT_EQ(days[kDay - 3].events, 3U);
  EXPECT_EQ(days[kDay - 1].events, 2U);
  EXPECT_EQ(days[kDay - 1].record_bytes, 200);
}

RC_GTEST_PROP(Arrivals, CountsEachEventOnce, ()) {
  const auto last = *rc::gen::inRange<uint64_t>(1, 5 * Arrivals::kPlaces);
  const auto serials = *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(1, last + 1));
  Arrivals arrivals(last, kNow);
  for (const uint64_t serial : serials) arrivals.AddEvent(serial, *rc::gen::arbitrary<uint64_t>());
  arrivals.Measure(Sample(), 1);
  std::map<uint64_t, Amount> days;
  arrivals.AddTo(&days);
  Amount all;
  for (const auto& [day, amount] : days) all += amount;
  RC_ASSERT(all.events == serials.size());
}

TEST(MonthOf, AYearThatIsFarAwayIsOneMonth) {
  const struct {
    uint64_t created_at;
    const char* name;
  } cases[] = {
      {0, "before 2020"},
      {1'577'836'799, "before 2020"},
      {1'577'836'800, "2020-01"},
      {kNow - 1, "2025-12"},
      {kNow, "2026-01"},
      {kNow + 2 * kDaySeconds - 1, "2026-01"},
      {kNow + 2 * kDaySeconds, "future"},
      {UINT64_MAX, "future"},
  };
  for (const auto& each : cases) EXPECT_EQ(MonthName(MonthOf(each.created_at, kNow)), each.name) << each.created_at;
  EXPECT_EQ(DayName(kNow / kDaySeconds), "2026-01-01");
}

TEST(KindCounts, TheRuleMatchesOlderEventsOfItsKinds) {
  CensusOptions options{.now_seconds = kNow, .rule = OldEvents{.before = 1'000, .kinds = KindSet()}};
  options.rule->kinds.Add(7, 7);
  KindCounts seven(7, options);
  KindCounts one(1, options);
  for (const uint64_t at : {999, 1'000, 1'001}) {
    seven.Add(at);
    one.Add(at);
  }
  EXPECT_EQ(seven.matched(), 1U);
  EXPECT_EQ(one.matched(), 0U);
  EXPECT_EQ(one.events(), 3U);
}

TEST(EntriesOf, ABeginningOfARecordIsEnough) {
  std::vector<Tag> tags;
  for (int i = 0; i < 500; ++i) tags.push_back({"p", Author(i)});
  tags.push_back({"expiration", "2000000000"});
  const Event event = ToEvent(Plain(Author(1), 1'000, 3, tags));
  const std::string_view record = event.view().record();
  std::map<char, double> letters;
  EXPECT_EQ(EntriesOf(record, &letters), 4 + 500 + 1 + 1);
  EXPECT_EQ(letters, (std::map<char, double>{{'p', 500}}));
  EXPECT_NEAR(EntriesOf(record.substr(0, 4'000)), 506, 2);
  EXPECT_EQ(EntriesOf(record.substr(0, 20)), 4);
}

TEST(Census, GrowsByTheAverageOfTheLastWeek) {
  constexpr uint64_t kToday = kNow / kDaySeconds;
  Census census{.at_seconds = kNow, .price = {.record_byte = 2}};
  EXPECT_EQ(census.GrowthADay().events, 0);
  EXPECT_EQ(census.DaysUntilFull(), std::nullopt);
  census.days[kToday] = {.events = 1'000, .record_bytes = 1'000};  // today is not over
  EXPECT_EQ(census.GrowthADay().events, 0) << "the first event came today";
  census.days[kToday - 2] = {.events = 10, .record_bytes = 100};
  EXPECT_EQ(census.GrowthADay().events, 5) << "of two days";
  census.days[kToday - 30] = {.events = 900, .record_bytes = 100};
  census.days[kToday - 7] = {.events = 60, .record_bytes = 600};
  EXPECT_EQ(census.GrowthADay().events, 10);
  EXPECT_EQ(census.GrowthADay().bytes, 200);
  census.disk.free_bytes = 2'000;
  EXPECT_EQ(census.DaysUntilFull(), 10);
}

}  // namespace
}  // namespace weir
