// Each shape's engine is what its name says, judged by the contents of the database.
#include "bench/storm/engine.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>

#include <map>

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
  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice&, const rocksdb::Slice& value) override {
    ++puts[family];
    value_bytes = value.size();
    return {};
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
    ++deletes;
    return {};
  }

  std::map<uint32_t, int> puts;
  int deletes = 0;
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
