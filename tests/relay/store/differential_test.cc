// Promises of the store on RocksDB beyond those of every store.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/relay/store/history.h"
#include "tests/relay/store/index_oracle.h"
#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

// Compares also with what the index must have, worked out once more.
class WithOracle final : public RocksDbUnderTest {
 public:
  using RocksDbUnderTest::RocksDbUnderTest;
  std::string Difference(EventStore& store) override {
    return RocksDbUnderTest::Difference(store) + IndexDifference(static_cast<RocksDbStore&>(store));
  }
};

INSTANTIATE_TEST_SUITE_P(RocksDb, StoreSuite,
                         testing::Values(StoreKind{
                             "rocksdb",
                             [](const std::string& own_url) { return std::make_unique<WithOracle>(own_url); }}),
                         NameOfKind);

// Queries that are under way while much changes answer as of the moment they were made.
TEST(StoreDifferential, QueriesSeeTheMomentTheyWereMade) {
  struct Open {
    std::vector<Filter> filters;
    ModelQuery model_query;
    std::unique_ptr<Query> query;
    ModelAnswer expected;
    std::vector<std::string> ids;
    uint64_t last_serial = 0;
  };
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    History history(seed, 600);
    for (int round = 0; round < 10; ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      std::vector<Open> opened(8);
      for (Open& o : opened) {
        o.filters = history.nostr().Filters();
        o.model_query = history.AnyQuery();
        o.query = history.store().Find(o.filters, History::ForStore(o.model_query));
        o.expected = history.model().Find(o.filters, o.model_query);
        o.last_serial = history.store().Now().value().NumberOf(0);
      }
      for (int n = 0; n < 10; ++n) {
        history.Save((round + n / 10.0) / 11);
        if (n % 3 == 0) history.Delete(round / 11.0);
        if (n % 5 == 0) history.Sweep();
        if (testing::Test::HasFatalFailure()) return;
        for (Open& o : opened) {
          const auto progress = o.query->Next({.max_work = 3 * kVisitWork, .max_bytes = 1000},
                                              [&](EventView event) { o.ids.push_back(ToHex(event.id())); });
          ASSERT_TRUE(progress.ok()) << progress.status().message();
        }
      }
      for (Open& o : opened) {
        for (std::string& id : Drain(*o.query)) o.ids.push_back(std::move(id));
        ASSERT_TRUE(SameIds(o.ids, o.expected.ids)) << History::Describe(o.filters, o.model_query);
        ASSERT_EQ(o.query->complete(), o.expected.complete) << History::Describe(o.filters, o.model_query);
        ASSERT_EQ(o.query->moment().NumberOf(0), o.last_serial);
      }
      opened.clear();
      history.Reopen();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(StoreDifferential, EventsWhoseIdsBeginAlikeCountAndEverySliceGetsOn) {
  constexpr size_t kAlike = 400;
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  std::vector<Event> events;
  std::vector<std::string> ids;
  for (size_t i = 0; i < kAlike; ++i) {
    std::string record = *ToEvent(Plain(Author(1), 10, 1, {}, std::to_string(i))).record();
    record.replace(0, 4, "same");
    events.emplace_back(std::make_shared<const std::string>(std::move(record)));
    ids.push_back(ToHex(events.back().view().id()));
  }
  std::ranges::sort(ids);
  std::vector<SaveResult> results(kAlike);
  ASSERT_TRUE(store->Save(events, 0, results).ok());
  const auto query = store->Find({Filter()}, {});
  std::vector<std::string> found;
  for (Progress progress = Progress::kMore; progress == Progress::kMore && found.size() <= kAlike;) {
    const Work before = query->work();
    const size_t had = found.size();
    progress = query->Next({}, [&](EventView event) { found.push_back(ToHex(event.id())); }).value();
    if (had < kAlike) {
      ASSERT_GT(found.size(), had);
      EXPECT_GE(query->work() - before, kAlike * kSeekWork);
    }
    query->Suspend();
  }
  EXPECT_TRUE(SameIds(found, ids));
}

// Otherwise queries whose clients do not read would keep what compaction would drop.
TEST(StoreDifferential, ASuspendedQueryHoldsNoSnapshot) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  for (int i = 0; i < 40; ++i) SaveAll(*store, {Plain(Author(i % 3), 1000 + i, 1, {}, std::to_string(i))});
  const auto snapshots = [&] {
    uint64_t count = 0;
    store->db()->GetIntProperty(store->families().back(), "rocksdb.num-snapshots", &count);
    return count;
  };
  const auto query = store->Find({Filter{}}, {});
  ASSERT_TRUE(query->Next({.max_bytes = 1}, [](EventView) {}).ok());
  EXPECT_EQ(snapshots(), 1U);
  query->Suspend();
  EXPECT_EQ(snapshots(), 0U);
  EXPECT_EQ(Drain(*query).size(), 39U);
}

}  // namespace
}  // namespace weir
