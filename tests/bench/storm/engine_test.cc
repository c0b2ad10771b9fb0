// Each shape's engine is what its name says, judged by the contents of the database.
#include "bench/storm/engine.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/utilities/stackable_db.h>
#include <rocksdb/write_buffer_manager.h>

#include <functional>
#include <map>
#include <set>
#include <thread>

#include "bench/storm/slow_file_system.h"
#include "relay/store/keys.h"
#include "tests/bench/storm/scratch.h"
#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

StormShape SmallOf(const std::string& name) { return Small(*FindStormShape(name)); }

class StormEngineOf {
 public:
  explicit StormEngineOf(const StormShape& shape) {
    EXPECT_TRUE(MakeTemplate(shape, scratch_->path() / "template").ok());
    auto opened =
        StormEngine::Open(shape, StormEngine::DefaultOptions(shape), scratch_->path() / "template", scratch_->path());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    engine_ = std::move(opened).value();
  }

  StormEngine* operator->() { return engine_.get(); }

  uint64_t Bytes(std::string_view extension) const {
    uint64_t bytes = 0;
    for (const fs::directory_entry& file : fs::directory_iterator(scratch_->path() / "template"))
      if (file.path().extension() == extension) bytes += file.file_size();
    return bytes;
  }

 private:
  const std::unique_ptr<TemporaryDirectory> scratch_ = MakeScratch();
  std::unique_ptr<StormEngine> engine_;
};

// Counts the changes of a batch: the puts by column family.
class Changes final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    ++puts[family];
    keys.insert(key.ToString());
    value_bytes = value.size();
    return {};
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
    ++deletes;
    return {};
  }

  rocksdb::Status DeleteRangeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    ++range_deletes;
    return {};
  }
  rocksdb::Status MergeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    ++merges;
    return {};
  }

  std::map<uint32_t, int> puts;
  std::set<std::string> keys;
  int deletes = 0, range_deletes = 0, merges = 0;
  size_t value_bytes = 0;
};

Changes BulkChangesOf(const StormShape& shape, int changes) {
  StormEngineOf engine(shape);
  std::mt19937_64 random(1);
  rocksdb::WriteBatch batch;
  for (int i = 0; i < changes; ++i) engine->AddBulkChange(random, &batch);
  Changes seen;
  EXPECT_TRUE(batch.Iterate(&seen).ok());
  return seen;
}

TEST(StormEngine, BlobsAreValuesInFilesOfTheirOwn) {
  const StormEngineOf engine(SmallOf("blobs"));
  EXPECT_GT(engine.Bytes(".blob"), 10 * engine.Bytes(".sst"));
}

TEST(StormEngine, ZstdHalvesItsValues) {
  const auto bytes = [](const std::string& shape) { return StormEngineOf(SmallOf(shape)).Bytes(".sst"); };
  EXPECT_LT(bytes("zstd"), 0.7 * static_cast<double>(bytes("recipe")));
}

TEST(StormEngine, FamiliesTakeTheirSharesOfTheWrites) {
  const Changes seen = BulkChangesOf(SmallOf("families"), 1200);
  ASSERT_EQ(seen.puts.size(), 4u);
  EXPECT_NEAR(seen.puts.at(0), 900, 60);
  for (const uint32_t family : {1, 2, 3}) EXPECT_NEAR(seen.puts.at(family), 100, 40);
}

TEST(StormEngine, HalfOfTheChangesDelete) { EXPECT_NEAR(BulkChangesOf(SmallOf("deletes"), 1200).deletes, 600, 70); }

TEST(StormEngine, OneInEightChangesDeletesARange) {
  EXPECT_NEAR(BulkChangesOf(SmallOf("delrange"), 1200).range_deletes, 150, 40);
}

TEST(StormEngine, HotKeysAreWrittenAgainAndAgain) {
  EXPECT_GT(BulkChangesOf(SmallOf("recipe"), 500).keys.size(), 250u);
  EXPECT_LT(BulkChangesOf(SmallOf("zipf"), 500).keys.size(), 250u);
}

TEST(StormEngine, MergesAddUpToACounter) {
  StormEngineOf engine(SmallOf("merge"));
  std::mt19937_64 random(1);
  rocksdb::WriteBatch bulk, small, two;
  engine->AddBulkChange(random, &bulk);
  engine->AddInteractivePut(random, &small);
  for (const rocksdb::WriteBatch* batch : {&bulk, &small}) {
    Changes seen;
    ASSERT_TRUE(batch->Iterate(&seen).ok());
    EXPECT_EQ(seen.merges, 1);
  }
  for (int i = 0; i < 2; ++i) two.Merge("key", rocksdb::Slice("\1\0\0\0\0\0\0\0", 8));
  ASSERT_TRUE(engine->Write({}, WorkClass::kBulk, two).ok());
  std::string sum;
  ASSERT_TRUE(engine->db().Get({}, "key", &sum).ok());
  EXPECT_EQ(sum, std::string("\2\0\0\0\0\0\0\0", 8));
}

TEST(StormEngine, IngestsBulkWorkAsFilesAndWritesTheRest) {
  StormEngineOf engine(SmallOf("ingest"));
  const auto in_memtable = [&] { return engine->Property(rocksdb::DB::Properties::kNumEntriesActiveMemTable); };
  rocksdb::WriteBatch bulk, small;
  for (const char* key : {"b", "a", "c", "a"}) bulk.Put(key, "ingested");
  small.Put("d", "written");
  ASSERT_TRUE(engine->Write({}, WorkClass::kBulk, bulk).ok());
  EXPECT_EQ(in_memtable(), 0u);
  ASSERT_TRUE(engine->Write({}, WorkClass::kInteractive, small).ok());
  EXPECT_EQ(in_memtable(), 1u);
  std::string value;
  EXPECT_TRUE(engine->db().Get({}, "a", &value).ok());
  EXPECT_EQ(value, "ingested");
}

// Each thread writes both keys, in the order that lets them lock each other out.
TEST(StormEngine, ATransactionThatConflictsIsRepeated) {
  for (const std::string shape : {"optimistic", "pessimistic"}) {
    StormEngineOf engine(SmallOf(shape));
    ASSERT_NE(dynamic_cast<rocksdb::StackableDB*>(&engine->db()), nullptr) << shape;
    const auto write = [&](const char* first, const char* second) {
      for (int i = 0; i < 200; ++i) {
        rocksdb::WriteBatch batch;
        batch.Put(first, "value");
        batch.Put(second, "value");
        EXPECT_TRUE(engine->Write({}, WorkClass::kBulk, batch).ok()) << shape;
      }
    };
    std::thread other(write, "b", "a");
    write("a", "b");
    other.join();
    std::string value;
    EXPECT_TRUE(engine->db().Get({}, "b", &value).ok()) << shape;
  }
}

TEST(StormEngine, OptionsAreWhatTheShapesSay) {
  using Options = rocksdb::Options;
  const std::map<std::string, std::function<bool(const Options&)>> checks = {
      {"recipe", [](const Options& o) { return o.rate_limiter && !o.write_buffer_manager->enabled(); }},
      {"hidden", [](const Options& o) { return !o.rate_limiter && o.env != rocksdb::Env::Default(); }},
      {"hugel1", [](const Options& o) { return o.level_compaction_dynamic_level_bytes; }},
      {"wbmstall", [](const Options& o) { return o.write_buffer_manager->buffer_size() == Bytes(1.2); }},
      {"jobs8", [](const Options& o) { return o.max_background_jobs == 8 && o.max_subcompactions == 4; }},
      {"unordered", [](const Options& o) { return o.unordered_write; }},
      {"atomic", [](const Options& o) { return o.atomic_flush; }},
      {"ttl-levels", [](const Options& o) { return o.ttl == 8 && o.periodic_compaction_seconds == 12; }},
      {"hash", [](const Options& o) { return !o.allow_concurrent_memtable_write && o.prefix_extractor; }},
      {"readmostly", [](const Options& o) { return o.row_cache != nullptr; }},
      {"fast", [](const Options& o) { return !o.rate_limiter && o.max_background_jobs == 8; }},
  };
  for (const auto& [shape, holds] : checks) {
    StormEngineOf engine(SmallOf(shape));
    EXPECT_TRUE(holds(engine->db().GetOptions())) << shape;
    std::mt19937_64 random(1);
    rocksdb::WriteBatch batch;
    engine->AddBulkChange(random, &batch);
    EXPECT_TRUE(engine->Write({}, WorkClass::kBulk, batch).ok()) << shape;
    EXPECT_TRUE(engine->Get(random).ok()) << shape;
    EXPECT_TRUE(engine->Scan(random, 20).ok()) << shape;
  }
}

TEST(StormEngine, WithoutAWalNothingIsLogged) {
  for (const auto& [shape, logs] : {std::pair("recipe", true), std::pair("unordered", false)}) {
    StormEngineOf engine(SmallOf(shape));
    rocksdb::WriteBatch batch;
    batch.Put("key", std::string(1000, 'x'));
    ASSERT_TRUE(engine->Write({}, WorkClass::kBulk, batch).ok());
    uint64_t bytes = 0;
    for (const fs::directory_entry& file : fs::directory_iterator(engine->db().GetName()))
      if (file.path().extension() == ".log") bytes += file.file_size();
    EXPECT_EQ(bytes > 0, logs) << shape;
  }
}

TEST(StormEngine, AnEngineInMemoryHasNoFiles) {
  StormEngineOf engine(SmallOf("memory"));
  EXPECT_TRUE(fs::is_empty(engine->db().GetName()));
  EXPECT_GT(engine->Property(rocksdb::DB::Properties::kEstimateNumKeys), 0u);
}

TEST(StormEngine, TheLastFamilyCompactsByFifo) {
  StormEngineOf engine(SmallOf("fifo"));
  const auto style = [&](size_t family) {
    return engine->db().GetOptions(engine->families()[family].get()).compaction_style;
  };
  EXPECT_EQ(style(0), rocksdb::kCompactionStyleLevel);
  EXPECT_EQ(style(1), rocksdb::kCompactionStyleFIFO);
}

TEST(StormEngine, ASlowFileSystemSlowsTablesAndBlobsOnly) {
  constexpr int64_t kFast = int64_t{1} << 40;
  const std::shared_ptr<rocksdb::RateLimiter> disk(rocksdb::NewGenericRateLimiter(kFast));
  const std::unique_ptr<rocksdb::Env> env = SlowEnv(disk);
  const auto scratch = MakeScratch();
  for (const auto& [name, bytes] :
       {std::pair("000001.log", 0), std::pair("000002.sst", 100), std::pair("3.blob", 200)}) {
    const std::string path = (scratch->path() / name).string();
    ASSERT_TRUE(rocksdb::WriteStringToFile(env.get(), std::string(100, 'x'), path).ok());
    EXPECT_EQ(disk->GetTotalBytesThrough(), bytes) << name;
  }
}

TEST(StormEngine, ValuesAreAsLargeAsTheShapeSays) {
  EXPECT_EQ(BulkChangesOf(SmallOf("small"), 1).value_bytes, 64u);
  EXPECT_EQ(BulkChangesOf(SmallOf("large"), 1).value_bytes, 64u << 10);
}

TEST(StormEngine, OnlyTheUniversalShapeCompactsUniversally) {
  for (const auto& [shape, style] : {std::pair("universal", rocksdb::kCompactionStyleUniversal),
                                     std::pair("recipe", rocksdb::kCompactionStyleLevel)}) {
    StormEngineOf engine(SmallOf(shape));
    EXPECT_EQ(engine->db().GetOptions().compaction_style, style) << shape;
  }
}

TEST(StormEngine, ARelaysEntriesLeadToTheirEvents) {
  const StormShape shape = SmallOf("relay");
  StormEngineOf engine(shape);
  std::mt19937_64 random(1);
  rocksdb::WriteBatch batch;
  for (int i = 0; i < 100; ++i) engine->AddBulkChange(random, &batch);
  Changes seen;
  ASSERT_TRUE(batch.Iterate(&seen).ok());
  EXPECT_EQ(seen.puts.at(1), 100) << "events";
  EXPECT_GT(seen.puts.at(2), 4 * 100) << "entries";
  ASSERT_TRUE(engine->db().Write({}, &batch).ok());

  const auto& families = engine->families();
  rocksdb::ReadOptions all;
  all.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> it(engine->db().NewIterator(all, families[2].get()));
  const Key ids('i');
  uint64_t events = 0;
  for (it->Seek(ids.view()); it->Valid() && it->key().starts_with(ids.view()); it->Next(), ++events) {
    IndexEntry entry;
    ASSERT_TRUE(ReadIdValue(it->value().ToStringView(), &entry));
    std::string record;
    ASSERT_TRUE(engine->db().Get({}, families[1].get(), EventKey(entry.serial).view(), &record).ok());
    ASSERT_TRUE(EventView::WellFormed(record));
    EXPECT_EQ(IdKey(EventView(record).id()).view(), it->key().ToStringView());
  }
  EXPECT_EQ(events, shape.preloaded_values + 100);
  EXPECT_TRUE(engine->Get(random).ok());
  EXPECT_TRUE(engine->Scan(random, 50).ok());
}

// Otherwise the bytes written could not be compared with the work that they leave behind.
TEST(StormEngine, ItSettlesUnderEachKindOfCompaction) {
  for (const std::string shape : {"recipe", "universal"}) {
    StormEngineOf engine(SmallOf(shape));
    std::mt19937_64 random(1);
    for (int file = 0; file < 3; ++file) {
      rocksdb::WriteBatch batch;
      for (int i = 0; i < 50; ++i) engine->AddBulkChange(random, &batch);
      ASSERT_TRUE(engine->db().Write({}, &batch).ok());
      ASSERT_TRUE(engine->db().Flush({}).ok());
    }
    ASSERT_TRUE(engine->BeginToSettle().ok());
    EXPECT_TRUE(Eventually([&] { return engine->Settled(); })) << shape;
  }
}

}  // namespace
}  // namespace weir
