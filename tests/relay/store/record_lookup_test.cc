// Records come out as they went in, whether they lie beside each other or alone, are cached or not.
#include "relay/store/record_lookup.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class RecordLookupTest : public testing::Test {
 protected:
  void Put(uint64_t serial, const std::string& record) {
    ASSERT_TRUE(database_->db()->Put({}, database_->events(), ToSlice(EventKey(serial)), record).ok());
    records_[serial] = record;
  }

  void ExpectAll(const std::vector<uint64_t>& serials, const rocksdb::ReadOptions& options = {}) {
    RecordLookup lookup;
    for (const uint64_t serial : serials) lookup.Add(serial);
    ASSERT_TRUE(lookup.Run(*database_, options).ok());
    for (size_t slot = 0; slot < serials.size(); ++slot) {
      const auto expected = records_.find(serials[slot]);
      ASSERT_EQ(lookup.Value(slot).has_value(), expected != records_.end()) << serials[slot];
      EXPECT_EQ(lookup.Value(slot).value_or(""), expected == records_.end() ? "" : expected->second);
    }
  }

  const TempDirectory directory_;
  const std::unique_ptr<Database> database_ = Database::Open(SmallStore(directory_ / "events")).value();
  std::map<uint64_t, std::string> records_;
};

TEST_F(RecordLookupTest, FindsWhatIsThereInAnyOrder) {
  std::mt19937_64 random(1);
  for (uint64_t serial = 1; serial <= 600; ++serial)
    if (random() % 5 != 0) Put(serial, std::string(random() % 300, static_cast<char>('a' + serial % 26)));
  ASSERT_TRUE(database_->db()->Flush({}, database_->events()).ok());
  for (uint64_t serial = 601; serial <= 700; ++serial) Put(serial, "in memory");
  rocksdb::ReadOptions keeps_nothing;
  keeps_nothing.fill_cache = false;
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> serials;
    for (uint64_t at = 1 + random() % 50; at <= 720; at += 1 + random() % (round % 2 == 0 ? 3 : 40))
      serials.push_back(at);
    std::ranges::shuffle(serials, random);
    ExpectAll(serials, round % 3 == 0 ? rocksdb::ReadOptions() : keeps_nothing);
  }
  ExpectAll({});
}

TEST_F(RecordLookupTest, KeepsWhatWasReadUnlessToldNotTo) {
  for (uint64_t serial = 1; serial <= 3; ++serial) Put(serial, "record " + std::to_string(serial));
  rocksdb::ReadOptions keeps_nothing;
  keeps_nothing.fill_cache = false;
  ExpectAll({1, 9}, keeps_nothing);
  EXPECT_FALSE(database_->record_cache().Find(1));
  ExpectAll({1, 2});
  ASSERT_TRUE(database_->record_cache().Find(2));
  EXPECT_EQ(database_->record_cache().Find(2).record(), "record 2");
  EXPECT_FALSE(database_->record_cache().Find(3));
}

TEST_F(RecordLookupTest, ACacheThatIsFullIsNoError) {
  const uint64_t capacity = database_->prepared().block_cache->GetCapacity();
  database_->prepared().block_cache->SetCapacity(0);
  for (uint64_t serial = 1; serial <= 30; ++serial) Put(serial, std::string(1000, 'x'));
  std::vector<uint64_t> serials;
  for (uint64_t serial = 1; serial <= 30; ++serial) serials.push_back(serial);
  ExpectAll(serials);
  ExpectAll(serials);
  database_->prepared().block_cache->SetCapacity(capacity);
}

// Each record is one letter, so that a thread that reads what was taken away meanwhile sees it.
TEST(RecordCache, ThreadsKeepFindAndDriveOut) {
  const RecordCache cache(rocksdb::NewLRUCache(64 << 10));
  const auto use = [&cache](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 3000; ++i) {
      const uint64_t serial = random() % 200;
      const std::string record(500 + serial, static_cast<char>('a' + serial % 26));
      if (const RecordCache::Pin pin = cache.Find(serial)) {
        ASSERT_EQ(pin.record(), record);
      } else {
        cache.Keep(serial, record);
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(use, seed);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir
