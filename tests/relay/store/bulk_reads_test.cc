#include "relay/store/bulk_reads.h"

#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class BulkReadsTest : public testing::Test {
 protected:
  static Admission Refused() { return Admission(Admission::Answer{.state = Admission::State::kRefused}); }
  void Store(uint64_t count, const std::string& content = "") {
    for (uint64_t i = 0; i < count; ++i) SaveAll(*store_, {Plain(Author(1), 1'000 + i, 1, {}, content)});
  }

  const QueryOptions all_{.default_limit = 1'000'000, .max_limit = 1'000'000};
  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
};

TEST_F(BulkReadsTest, EachSliceHasAnAdmission) {
  Store(40, std::string(50'000, 'x'));
  std::vector<uint64_t> costs;
  BulkReads reads(*store_, [&costs](Cost cost) {
    costs.push_back(cost.bytes);
    return Admission();
  });
  uint64_t events = 0;
  const Result<bool> read = reads.Read({Filter{}}, all_, UINT64_MAX, [&events](EventView) { ++events; });
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value());
  EXPECT_EQ(events, 40U);
  EXPECT_GE(costs.size(), 4U) << "2 MB are at least four slices";
  for (const uint64_t cost : costs) EXPECT_EQ(cost, BulkReads::kSlice.max_bytes);
}

TEST_F(BulkReadsTest, EndsEarlyAfterTheWorkThatItMayDo) {
  Store(40, std::string(50'000, 'x'));
  BulkReads reads(*store_, nullptr);
  uint64_t events = 0;
  const Result<bool> read = reads.Read({Filter{}}, all_, 1, [&events](EventView) { ++events; });
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read.value());
  EXPECT_GT(events, 0U);
  EXPECT_LT(events, 40U);
}

TEST_F(BulkReadsTest, AsksAgainAfterARefusal) {
  Store(1);
  int asked = 0;
  BulkReads reads(*store_, [&asked](Cost) { return ++asked == 1 ? Refused() : Admission(); });
  uint64_t events = 0;
  EXPECT_TRUE(reads.Read({Filter{}}, all_, UINT64_MAX, [&events](EventView) { ++events; }).ok());
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(events, 1U);
}

TEST_F(BulkReadsTest, StopEndsTheReads) {
  Store(1);
  BulkReads reads(*store_, [&reads](Cost) {
    reads.Stop();
    return Refused();
  });
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(reads.Read({Filter{}}, all_, UINT64_MAX, [](EventView) { FAIL(); }).ok());
}

}  // namespace
}  // namespace weir
