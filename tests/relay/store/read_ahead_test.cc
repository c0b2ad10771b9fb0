// Tests that what is read ahead is in memory, as far as the cache has room.
#include "relay/store/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "tests/relay/store/damaged_block.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kEvents = 600;

class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    std::vector<PlainEvent> events;
    for (uint64_t n = 1; n <= kEvents; ++n) events.push_back(Plain(Author(n % 7 + 1), n, 1, {{"t", "a"}}));
    SaveAll(*store_, events);
    Reopen();
    for (const std::string& id : StoredIds(*store_)) ids_.push_back(ToBytes(id));
  }

  void Reopen() {
    store_.reset();
    store_ = MustOpen(SmallStore(directory_ / "events"));
  }
  // Returns the number of pieces.
  int ReadAll(std::vector<uint64_t> serials) {
    const auto ahead = store_->NewReadAhead(std::move(serials));
    int pieces = 0;
    for (Result<bool> more = true; more.value(); ++pieces) {
      more = ahead->Next();
      EXPECT_TRUE(more.ok()) << more.status().message();
      if (!more.ok()) break;
    }
    records_ = ahead->records();
    done_ = ahead->done();
    return pieces;
  }
  // Returns the number of blocks that RocksDB reads to look all ids up.
  uint64_t BlocksForIds() const {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    EXPECT_TRUE(store_->Stored(ids_).ok());
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    return rocksdb::get_perf_context()->block_read_count;
  }

  const TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
  std::vector<EventId> ids_;
  uint64_t records_ = 0;
  double done_ = 0;
};

TEST_F(ReadAheadTest, NothingIsInMemoryAfterAStart) {
  EXPECT_TRUE(store_->CachedRecords().empty());
  EXPECT_GT(BlocksForIds(), 0U);
}

TEST_F(ReadAheadTest, TheCacheTellsWhichRecordsWereRead) {
  std::vector<EventId> asked = {ids_[41], ids_[4], ids_[499]};
  std::ranges::sort(asked);
  const auto query = store_->Find({Filter{.ids = asked}}, {});
  EXPECT_EQ(Drain(*query).size(), 3U);
  EXPECT_EQ(store_->CachedRecords(), (std::vector<uint64_t>{5, 42, 500}));
}

TEST_F(ReadAheadTest, ReadsTheIndexAndTheRecords) {
  std::vector<uint64_t> serials;
  for (uint64_t serial = 3; serial <= kEvents; serial += 3) serials.push_back(serial);
  ReadAll(serials);
  EXPECT_EQ(store_->CachedRecords(), serials);
  EXPECT_EQ(records_, serials.size());
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(BlocksForIds(), 0U);
}

TEST_F(ReadAheadTest, ARecordThatIsGoneIsPassedOver) {
  ASSERT_TRUE(store_->Delete(std::vector<EventId>{ids_[1]}).ok());
  ReadAll({1, 2, 3, kEvents + 50, kLastSerial});
  EXPECT_EQ(store_->CachedRecords(), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(records_, 2U);
}

TEST_F(ReadAheadTest, AfterAnErrorItGoesOnWithWhatFollows) {
  store_ = WithADamagedBlock(std::move(store_), SmallStore(directory_ / "events"));
  ASSERT_NE(store_, nullptr);
  std::vector<uint64_t> serials;
  for (uint64_t serial = 1; serial <= kEvents; ++serial) serials.push_back(serial);
  const auto ahead = store_->NewReadAhead(serials);
  int errors = 0;
  for (bool more = true; more;) {
    const Result<bool> read = ahead->Next();
    if (!read.ok()) ++errors;
    more = !read.ok() || read.value();
  }
  EXPECT_GT(errors, 0);
  EXPECT_LT(errors, 5);
  EXPECT_GT(ahead->records(), kEvents / 2);
  EXPECT_LT(ahead->records(), kEvents);
  EXPECT_EQ(ahead->done(), 1);
}

TEST_F(ReadAheadTest, WithoutSerialsItReadsTheIndex) {
  ReadAll({});
  EXPECT_EQ(BlocksForIds(), 0U);
  EXPECT_TRUE(store_->CachedRecords().empty());
}

TEST_F(ReadAheadTest, AnIndexThatWouldTakeMostOfTheCacheIsLeftOut) {
  std::vector<PlainEvent> events;
  for (uint64_t n = 1; n <= 100; ++n) {
    std::vector<Tag> tags;
    for (uint64_t tag = 0; tag < 200; ++tag) tags.push_back({"t", std::to_string(200 * n + tag)});
    events.push_back(Plain(Author(1), kEvents + n, 1, tags));
  }
  SaveAll(*store_, events);
  Reopen();
  const auto& cache = store_->prepared().block_cache;
  const uint64_t capacity = cache->GetCapacity();
  uint64_t index_bytes = 0;
  store_->db()->GetIntProperty(store_->families()[2], rocksdb::DB::Properties::kLiveSstFilesSize, &index_bytes);
  cache->SetCapacity(3 * index_bytes);
  ASSERT_LT(cache->GetUsage(), 2 * index_bytes);
  ReadAll({1, 2, 3});
  EXPECT_GT(BlocksForIds(), 0U);
  EXPECT_EQ(store_->CachedRecords().size(), 3U);
  cache->SetCapacity(capacity);
}

TEST_F(ReadAheadTest, EndsWhenTheCacheIsFull) {
  const auto& cache = store_->prepared().block_cache;
  const uint64_t capacity = cache->GetCapacity();
  cache->SetCapacity(cache->GetUsage());
  EXPECT_EQ(ReadAll({1, 2, 3}), 1);
  EXPECT_EQ(records_, 0U);
  EXPECT_EQ(done_, 0);
  cache->SetCapacity(capacity);
}

}  // namespace
}  // namespace weir
