// Whether a query would find an event, and estimates of how many events a query would find.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "relay/store/count_estimate.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

constexpr uint64_t kNow = RandomNostr::kStart + 100'000;

// Returns the options of a COUNT, which has no limits.
QueryOptions CountOptions() {
  return {.now_seconds = kNow, .default_limit = UINT64_MAX, .max_limit = UINT64_MAX, .fills_cache = false};
}

// Returns the ids of the events in the store that the query would find, each asked for in pieces of the work `most`.
std::set<std::string> WouldBeFound(const EventStore& store, Query& query, Work most) {
  std::set<std::string> ids;
  const Status scanned = store.ScanAll({}, query.moment(), [&](Serial, EventView event) {
    std::optional<bool> found;
    while (!found) found = query.WouldFind(event, most);
    if (*found) ids.insert(ToHex(event.id()));
    return true;
  });
  EXPECT_TRUE(scanned.ok()) << scanned.message();
  return ids;
}

// Saves `count` events of a hundred authors, in an order of their own: kinds 1 and 7 and, one of 25, kind 4.
std::vector<PlainEvent> SaveMany(EventStore& store, uint64_t count) {
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < count; ++n) {
    const uint64_t random = n * 0x9e3779b97f4a7c15 >> 20;
    const uint16_t kind = random % 25 == 0 ? 4 : random % 3 == 0 ? 7 : 1;
    std::vector<Tag> tags = {{"t", "v" + std::to_string(random % 5)}};
    if (random % 50 == 1) tags.push_back({"expiration", std::to_string(kNow - 1)});
    events.push_back(Plain(Author(random % 100), RandomNostr::kStart + random % 90'000, kind, tags, std::to_string(n)));
  }
  for (size_t i = 0; i < events.size(); i += 1000)
    SaveAll(store, {events.begin() + static_cast<ptrdiff_t>(i),
                    events.begin() + static_cast<ptrdiff_t>(std::min(events.size(), i + 1000))});
  return events;
}

struct Estimated {
  uint64_t counted = 0;  // found one by one before the estimate
  uint64_t total = 0;
  double error = 0;
  Work work = 0;
};

CountEstimate EstimateOf(const EventStore& store, Query& query, uint64_t counted, uint64_t random = 0) {
  Result<std::vector<EventGroups>> groups = store.Groups(query.moment());
  EXPECT_TRUE(groups.ok()) << groups.status().message();
  if (!groups.ok()) return {{}, query, counted, random};
  EXPECT_FALSE(groups.value().empty()) << "the store cannot be sampled";
  return {std::move(groups).value(), query, counted, random};
}

struct Sampling {
  Work slice = kTurnWork;
  uint64_t random = 0;
  double good_error = 0;  // the estimate ends earlier if its error is less
};

// Reads the query for about the work `counting`, and estimates the rest, in slices. Calls `between` before that.
Estimated Estimate(
    const EventStore& store, const Filter& filter, const QueryOptions& options, Work counting,
    const Sampling& sampling = {}, const std::function<void()>& between = [] {}) {
  const auto query = store.Find({filter}, options);
  Estimated estimated;
  const auto count = [&](EventView) { ++estimated.counted; };
  EXPECT_TRUE(query->Next({.max_work = counting}, count).ok());
  query->Suspend();
  between();
  CountEstimate estimate = EstimateOf(store, *query, estimated.counted, sampling.random);
  for (Progress progress = Progress::kMore; progress == Progress::kMore && estimate.error() >= sampling.good_error;) {
    const Result<Progress> next = estimate.Next(sampling.slice);
    EXPECT_TRUE(next.ok()) << next.status().message();
    if (!next.ok()) break;
    progress = next.value();
  }
  estimated.total = estimate.total();
  estimated.error = estimate.error();
  estimated.work = estimate.work();
  return estimated;
}

uint64_t CountAll(const EventStore& store, const Filter& filter, const QueryOptions& options) {
  return Drain(*store.Find({filter}, options)).size();
}

TEST_P(StoreSuite, AQueryWouldFindWhatItFindsLater) {
  for (uint64_t seed = 0; seed < Seeds(4); ++seed) {
    RandomNostr random(seed, 300);
    const auto place = MakePlace();
    const auto store = place->Open();
    ASSERT_NE(store, nullptr);
    SaveAll(*store, random.events(), RandomNostr::kStart);
    for (int round = 0; round < 40; ++round) {
      std::vector<Filter> filters = random.Filters();
      for (Filter& filter : filters) filter.limit.reset();
      QueryOptions options = CountOptions();
      if (random.OneIn(2)) options.visible = [](EventView event) { return event.id()[0] % 4 != 0; };
      const auto query = store->Find(std::move(filters), options);
      const Slice some{.max_work = 1 + random.Below(200'000)};
      ASSERT_TRUE(query->Next(some, [](EventView) {}).ok());
      const std::set<std::string> would = WouldBeFound(*store, *query, random.OneIn(2) ? kTurnWork : 1);
      const std::vector<std::string> does = Drain(*query);
      EXPECT_EQ(would, std::set<std::string>(does.begin(), does.end())) << "seed " << seed << ", round " << round;
    }
  }
}

// An event that is removed between two calls is not asked for again.
TEST_P(StoreSuite, AQueryForgetsTheEventThatItHasMatchedInPart) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  const PlainEvent gone = Plain(Author(1), 10, 3);
  const PlainEvent other = Plain(Author(1), 20, 1);
  SaveAll(*store, {gone, other});
  const auto query = store->Find({Filter{.kinds = {{1}}}, Filter{.kinds = {{2}}}}, CountOptions());
  const Event first = ToEvent(gone);
  const Event second = ToEvent(other);
  EXPECT_EQ(query->WouldFind(first.view(), 1), std::nullopt);
  EXPECT_EQ(query->WouldFind(second.view(), kTurnWork), true);
}

TEST_P(StoreSuite, AnEstimateFromTheWholeStoreIsExact) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events = SaveMany(*store, 400);
  std::vector<EventId> removed;
  for (size_t i = 0; i < events.size(); i += 7) removed.push_back(ToBytes(events[i].id));
  ASSERT_TRUE(store->Delete(removed).ok());
  for (const Filter& filter : {Filter{}, Filter{.kinds = {{7}}}, Filter{.kinds = {{7}}, .tags = {{'t', {"v1"}}}}}) {
    const uint64_t all = CountAll(*store, filter, CountOptions());
    ASSERT_GT(all, 10U);
    for (const Work slice : {kTurnWork, Work{1}, Work{30'000}}) {
      const Estimated estimated = Estimate(*store, filter, CountOptions(), 15'000, {.slice = slice});
      EXPECT_LT(estimated.counted, all) << "it was to be a part";
      EXPECT_EQ(estimated.total, all) << ToJson(filter) << " in slices of " << slice;
      EXPECT_EQ(estimated.error, 0) << "there are less than 64 groups";
    }
  }
}

// The deviations are of a fixed sample, so they are the same in every run.
TEST_P(StoreSuite, AnEstimateIsAsGoodAsItSays) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  SaveMany(*store, 5000);
  QueryOptions of_stranger = CountOptions();
  of_stranger.visible = [](EventView event) { return event.kind() != 4; };
  const struct {
    Filter filter;
    QueryOptions options;
  } cases[] = {
      {{}, of_stranger},
      {{}, CountOptions()},
      {{.kinds = {{1}}}, CountOptions()},
      {{.kinds = {{4, 7}}}, of_stranger},
      {{.tags = {{'t', {"v1", "v2"}}}}, CountOptions()},
      {{.kinds = {{1}}, .since = RandomNostr::kStart + 30'000}, CountOptions()},
  };
  for (const auto& c : cases) {
    const uint64_t all = CountAll(*store, c.filter, c.options);
    const Estimated estimated = Estimate(*store, c.filter, c.options, 400'000, {.slice = 200'000});
    EXPECT_LE(estimated.error, 0.01) << ToJson(c.filter);
    const double off = static_cast<double>(estimated.total) - static_cast<double>(all);
    EXPECT_LE(std::abs(off), 4 * estimated.error * static_cast<double>(all) + 1)
        << ToJson(c.filter) << ": " << estimated.total << " of " << all;
  }
}

// A part of the store is read each time, beginning elsewhere.
TEST_P(StoreSuite, EstimatesAreRightInTheMean) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  SaveMany(*store, 5000);
  for (const Filter& filter : {Filter{.kinds = {{1}}}, Filter{.tags = {{'t', {"v1"}}}}, Filter{.kinds = {{4}}}}) {
    const auto all = static_cast<double>(CountAll(*store, filter, CountOptions()));
    constexpr int kEstimates = 40;
    double sum = 0;
    for (uint64_t random = 0; random < kEstimates; ++random) {
      const Sampling sampling{.slice = 200'000, .random = random * 7919, .good_error = 0.12};
      const Estimated estimated = Estimate(*store, filter, CountOptions(), 40'000, sampling);
      EXPECT_GT(estimated.error, 0.02) << "it was to be a part";
      const double off = static_cast<double>(estimated.total) / all - 1;
      EXPECT_LE(std::abs(off), 4 * estimated.error) << ToJson(filter) << ", begun at " << random;
      sum += off;
    }
    EXPECT_LE(std::abs(sum / kEstimates), 0.03) << ToJson(filter);
  }
}

TEST_P(StoreSuite, AnEstimateHasNoEventsThatWereSavedLater) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events = SaveMany(*store, 500);
  std::vector<EventId> removed;
  for (size_t i = 0; i < events.size(); i += 5) removed.push_back(ToBytes(events[i].id));
  ASSERT_TRUE(store->Delete(removed).ok());  // the later events may take their room
  const uint64_t all = CountAll(*store, {}, CountOptions());
  const auto save_later = [&] {
    std::vector<PlainEvent> later;
    for (uint64_t n = 0; n < 500; ++n) later.push_back(Plain(Author(n), RandomNostr::kStart + n, 1));
    SaveAll(*store, later);
  };
  EXPECT_EQ(Estimate(*store, {}, CountOptions(), 15'000, {}, save_later).total, all);
}

// Groups are read in pieces, and each piece goes on behind the last place.
TEST_P(StoreSuite, EachStoredEventIsInOneGroup) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events = SaveMany(*store, 300);
  for (uint64_t n = 0; n < 20; ++n)  // some have another time, perhaps in another partition, and some are large
    events.push_back(Plain(Author(n), n * 100, 1, {}, std::string(n % 4 * 3000, 'x')));
  SaveAll(*store, {events.end() - 20, events.end()});
  ASSERT_TRUE(store->Delete(std::vector<EventId>{ToBytes(events[7].id)}).ok());
  std::multiset<std::string> grouped;
  const Result<Moment> now = store->Now();
  const Result<std::vector<EventGroups>> groups = store->Groups(now.value());
  ASSERT_TRUE(groups.ok()) << groups.status().message();
  for (const EventGroups& some : groups.value()) {
    for (uint64_t group = 0; group < some.count; ++group) {
      uint64_t last = 0;
      for (size_t pieces = 1, visited = 1; visited > 0; ++pieces) {
        visited = 0;
        const Result<Work> read = some.read(group, last, [&](uint64_t at, Serial serial, EventView event) {
          EXPECT_GT(at, last);
          EXPECT_TRUE(now.value().Has(serial));
          last = at;
          grouped.insert(ToHex(event.id()));
          return ++visited < pieces;
        });
        ASSERT_TRUE(read.ok()) << read.status().message();
      }
    }
  }
  const std::vector<std::string> stored = StoredIds(*store);
  EXPECT_EQ(grouped, std::multiset<std::string>(stored.begin(), stored.end()));
}

TEST_P(StoreSuite, AnEstimateTellsNothingOfEventsThatAClientMayNotSee) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  SaveMany(*store, 1500);
  QueryOptions of_stranger = CountOptions();
  of_stranger.visible = [](EventView event) { return event.kind() != 4; };
  const Estimated estimated = Estimate(*store, {.kinds = {{4}}}, of_stranger, 50'000);
  EXPECT_EQ(estimated.total, 0U);
  EXPECT_EQ(Estimate(*store, {.kinds = {{4}}}, CountOptions(), 1).total,
            CountAll(*store, {.kinds = {{4}}}, CountOptions()));
}

// A sample without a match is no proof that there is none.
TEST_P(StoreSuite, AnEstimateOfARareSetSaysThatItIsRough) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  SaveMany(*store, 5000);
  const auto query = store->Find({{.tags = {{'t', {"none"}}}}}, CountOptions());
  ASSERT_TRUE(query->Next({.max_work = 1}, [](EventView) {}).ok());
  CountEstimate estimate = EstimateOf(*store, *query, 0);
  EXPECT_EQ(estimate.error(), 1) << "no group was read";
  Work before = 0;
  while (estimate.work() < 3'000'000) {
    ASSERT_TRUE(estimate.Next(kTurnWork).ok());
    ASSERT_GT(estimate.work(), before) << "each call reads";
    ASSERT_LT(estimate.work(), before + 1.2 * kTurnWork) << "and not much more than it may";
    before = estimate.work();
  }
  EXPECT_EQ(estimate.total(), 0U);
  EXPECT_GT(estimate.error(), 0.5);
}

}  // namespace
}  // namespace weir
