#include "throttle/rocksdb/throttled_db.h"

#include <fstream>

#include "rocksdb/sst_file_writer.h"
#include "rocksdb/stats_history.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/throttle/rocksdb/throttled_fixture.h"

namespace weir {
namespace {

using rocksdb::WriteBatch;

class ThrottledDbTest : public ThrottledTest {
 protected:
  ThrottledDbTest() { Open({.bulk_families = {"index", "later"}}); }
  ~ThrottledDbTest() override { Close(); }

  void Open(const WriteRules& rules) {
    Close();
    OpenedRocksDb opened{};
    const rocksdb::Status s = rocksdb::DB::Open(MergingEngine(), directory_.path(), TwoFamilies(), &handles_, &opened);
    ASSERT_TRUE(s.ok()) << s.ToString();
    db_ = std::make_unique<ThrottledDb>(OwnerOf(&opened), *limiter_, rules, handles_);
  }
  void Close() {
    for (Family* handle : handles_) EXPECT_TRUE(db_->DestroyColumnFamilyHandle(handle).ok());
    handles_.clear();
    db_.reset();
  }

  Family* index() { return handles_[1]; }
  std::string Get(const std::string& key, Family* family = nullptr) {
    std::string value;
    const rocksdb::Status s = db_->Get({}, family == nullptr ? handles_[0] : family, key, &value);
    return s.ok() ? value : s.ToString();
  }
  // Writes a table with one key, and returns its path.
  std::string TableOf(const std::string& key) {
    std::string path = directory_.path() + "/" + key + ".sst";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), MergingEngine());
    EXPECT_TRUE(writer.Open(path).ok() && writer.Put(key, "value").ok() && writer.Finish().ok());
    return path;
  }
  static uint64_t SizeOf(const std::string& path) {
    return static_cast<uint64_t>(std::ifstream(path, std::ios::ate | std::ios::binary).tellg());
  }

  std::unique_ptr<ThrottledDb> db_;
  std::vector<Family*> handles_;
};

TEST_F(ThrottledDbTest, EachWriteAsksOnceForItsBytes) {
  const struct {
    const char* name;
    uint64_t bytes;
    std::function<rocksdb::Status(rocksdb::DB&)> write;
  } kWrites[] = {
      {"put", 8, [](auto& db) { return db.Put({}, "key", "value"); }},
      {"put in a family", 8, [](auto& db) { return db.Put({}, db.DefaultColumnFamily(), "key", "value"); }},
      {"entity", 3 + 6 + 5,
       [](auto& db) {
         return db.PutEntity({}, db.DefaultColumnFamily(), "key", {{"column", "value"}});
       }},
      {"delete", 3, [](auto& db) { return db.Delete({}, "key"); }},
      {"single delete", 4, [](auto& db) { return db.SingleDelete({}, "once"); }},
      {"delete of a range", 3, [](auto& db) { return db.DeleteRange({}, db.DefaultColumnFamily(), "x", "yy"); }},
      {"merge", 5, [](auto& db) { return db.Merge({}, "sum", "+1"); }},
  };
  for (const auto& [name, bytes, write] : kWrites) {
    const rocksdb::Status s = write(*db_);
    ASSERT_TRUE(s.ok()) << name << ": " << s.ToString();
    const Flow asked = Asked();
    EXPECT_EQ(asked.operations, 1u) << name;
    EXPECT_EQ(asked.bytes, bytes) << name;
    EXPECT_EQ(AskedInBulk().operations, 0u) << name;
  }
}

TEST_F(ThrottledDbTest, ABatchAsksOnceForItsSize) {
  WriteBatch batch;
  ASSERT_TRUE(batch.Put("a", "1").ok() && batch.Delete("b").ok());
  ASSERT_TRUE(db_->Write({}, &batch).ok());
  const Flow asked = Asked();
  EXPECT_EQ(asked.operations, 1u);
  EXPECT_EQ(asked.bytes, batch.GetDataSize());

  rocksdb::WriteBatchWithIndex indexed;
  ASSERT_TRUE(indexed.Put("c", "3").ok());
  ASSERT_TRUE(db_->Write({}, indexed.GetWriteBatch()).ok());
  EXPECT_EQ(Asked().bytes, indexed.GetWriteBatch()->GetDataSize());
  EXPECT_EQ(Get("a") + Get("c"), "13");
}

TEST_F(ThrottledDbTest, AnIngestionAsksForTheSizeOfItsFiles) {
  const std::string a = TableOf("a");
  const std::string b = TableOf("b");
  const std::string c = TableOf("c");
  const uint64_t a_bytes = SizeOf(a);
  const uint64_t both_bytes = SizeOf(b) + SizeOf(c);
  ASSERT_GT(a_bytes, 0u);
  ASSERT_TRUE(db_->IngestExternalFile({a}, {}).ok());
  EXPECT_EQ(Asked().bytes, a_bytes);

  std::vector<rocksdb::IngestExternalFileArg> args(2);
  for (size_t i : {0, 1}) {
    args[i].column_family = handles_[i];
    args[i].external_files = {i == 0 ? b : c};
  }
  ASSERT_TRUE(db_->IngestExternalFiles(args).ok());
  const Flow asked = Asked();
  EXPECT_EQ(asked.operations, 1u);
  EXPECT_EQ(asked.bytes, both_bytes);
  EXPECT_EQ(Get("a") + Get("b") + Get("c", index()), "valuevaluevalue");

  const std::string d = TableOf("d");
  ASSERT_TRUE(db_->IngestExternalFile(index(), {d}, {}).ok());
  EXPECT_EQ(AskedInBulk().operations, 1u) << "into a bulk family";
}

TEST_F(ThrottledDbTest, TheErrorOfAFileThatIsNotThereIsThatOfRocksDb) {
  const rocksdb::Status s = db_->IngestExternalFile({directory_.path() + "/none"}, {});
  EXPECT_FALSE(s.ok());
  EXPECT_FALSE(s.IsBusy());
}

TEST_F(ThrottledDbTest, ReadsDoNotAsk) {
  EXPECT_EQ(Get("key"), "NotFound: ");
  const std::unique_ptr<rocksdb::Iterator> all(db_->NewIterator({}));
  all->SeekToFirst();
  EXPECT_EQ(Asked().operations, 0u);
  EXPECT_EQ(limiter_->Stats(Operation::kRead).admitted[0].operations, 0u);
}

TEST_F(ThrottledDbTest, LowPriorityIsBulkWork) {
  rocksdb::WriteOptions low;
  low.low_pri = true;
  WriteBatch batch;
  ASSERT_TRUE(batch.Put("a", "1").ok());
  ASSERT_TRUE(db_->Put(low, "key", "value").ok() && db_->Write(low, &batch).ok());
  EXPECT_EQ(AskedInBulk().operations, 2u);
  EXPECT_EQ(Asked().operations, 0u);
}

TEST_F(ThrottledDbTest, AWriteToBulkFamiliesAloneIsBulkWork) {
  const auto batch_of = [&](std::initializer_list<Family*> families) {
    WriteBatch batch;
    for (Family* family : families) {
      EXPECT_TRUE(batch.Put(family, "key", "value").ok() && batch.Merge(family, "key", "value").ok() &&
                  batch.Delete(family, "key").ok() && batch.SingleDelete(family, "once").ok() &&
                  batch.DeleteRange(family, "x", "y").ok() && batch.PutLogData("log").ok());
    }
    EXPECT_TRUE(db_->Write({}, &batch).ok());
  };
  ASSERT_TRUE(db_->Put({}, index(), "key", "value").ok());
  EXPECT_EQ(AskedInBulk().bytes, 8u);
  batch_of({index()});
  EXPECT_EQ(AskedInBulk().operations, 1u);
  EXPECT_EQ(Asked().operations, 0u);
  batch_of({index(), handles_[0]});
  batch_of({handles_[0], index()});
  batch_of({});
  EXPECT_EQ(Asked().operations, 3u);
  EXPECT_EQ(AskedInBulk().operations, 0u);
}

TEST_F(ThrottledDbTest, AFamilyIsBulkFromItsCreationOn) {
  Family* later = nullptr;
  Family* other = nullptr;
  ASSERT_TRUE(db_->CreateColumnFamily({}, "other", &other).ok());
  ASSERT_TRUE(db_->CreateColumnFamily({}, "later", &later).ok());
  ASSERT_TRUE(db_->Put({}, later, "key", "value").ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  ASSERT_TRUE(db_->Put({}, other, "key", "value").ok());
  EXPECT_EQ(Asked().operations, 1u);
  EXPECT_TRUE(db_->DestroyColumnFamilyHandle(later).ok());
  EXPECT_TRUE(db_->DestroyColumnFamilyHandle(other).ok());
}

TEST_F(ThrottledDbTest, FamiliesThatAreCreatedTogetherAreBulkByTheirNames) {
  Open({.bulk_families = {"a", "d"}});
  std::vector<Family*> first;
  std::vector<Family*> second;
  ASSERT_TRUE(db_->CreateColumnFamilies(rocksdb::ColumnFamilyOptions(), {"a", "b"}, &first).ok());
  ASSERT_TRUE(db_->CreateColumnFamilies({{"c", {}}, {"d", {}}}, &second).ok());
  for (Family* family : {first[0], first[1], second[0], second[1]}) {
    ASSERT_TRUE(db_->Put({}, family, "key", "value").ok());
    EXPECT_EQ(AskedInBulk().operations, family == first[0] || family == second[1] ? 1u : 0u) << family->GetName();
    EXPECT_TRUE(db_->DestroyColumnFamilyHandle(family).ok());
  }
}

TEST_F(ThrottledDbTest, AFamilyThatIsImportedIsBulkByItsName) {
  ASSERT_TRUE(db_->Put({}, index(), "key", "value").ok());
  rocksdb::Checkpoint* checkpoint = nullptr;
  ASSERT_TRUE(rocksdb::Checkpoint::Create(db_.get(), &checkpoint).ok());
  const std::unique_ptr<rocksdb::Checkpoint> owned(checkpoint);
  rocksdb::ExportImportFilesMetaData* exported = nullptr;
  const rocksdb::Status s = owned->ExportColumnFamily(index(), directory_.path() + "/exported", &exported);
  ASSERT_TRUE(s.ok()) << s.ToString();
  const std::unique_ptr<rocksdb::ExportImportFilesMetaData> files(exported);
  (void)AskedInBulk();

  Family* later = nullptr;
  const rocksdb::Status imported = db_->CreateColumnFamilyWithImport(MergingEngine(), "later", {}, *files, &later);
  ASSERT_TRUE(imported.ok()) << imported.ToString();
  EXPECT_EQ(Get("key", later), "value");
  EXPECT_EQ(AskedInBulk().operations, 0u) << "the import does not ask";
  ASSERT_TRUE(db_->Put({}, later, "key", "value").ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  EXPECT_TRUE(db_->DestroyColumnFamilyHandle(later).ok());
}

TEST_F(ThrottledDbTest, FunctionsThatTheStackableDbLeavesOutReachRocksDb) {
  EXPECT_TRUE(db_->Resume().ok());
  std::vector<rocksdb::ColumnFamilyMetaData> families;
  db_->GetAllColumnFamilyMetaData(&families);
  EXPECT_EQ(families.size(), 2u);
  std::unique_ptr<rocksdb::StatsHistoryIterator> history;
  EXPECT_FALSE(db_->GetStatsHistory(0, 1, &history).IsNotSupported());

  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  const rocksdb::Slice key("key");
  rocksdb::PinnableSlice pinned;
  std::vector<std::string> values;
  std::vector<std::string> timestamps(1);
  rocksdb::Status status;
  EXPECT_TRUE(db_->Get({}, handles_[0], key, &pinned, timestamps.data()).ok());
  EXPECT_TRUE(db_->MultiGet({}, {handles_[0]}, {key}, &values, &timestamps)[0].ok());
  db_->MultiGet({}, handles_[0], 1, &key, &pinned, timestamps.data(), &status);
  EXPECT_TRUE(status.ok()) << status.ToString();
  db_->MultiGet({}, 1, handles_.data(), &key, &pinned, timestamps.data(), &status);
  EXPECT_TRUE(status.ok()) << status.ToString();
  db_->MultiGet({}, 1, handles_.data(), &key, &pinned, &status);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(ThrottledDbTest, AMarkedThreadDoesBulkWorkUntilTheMarkEnds) {
  {
    const BulkThread bulk;
    { const BulkThread inner; }
    ASSERT_TRUE(db_->Put({}, "key", "value").ok());
    std::thread([&] { EXPECT_TRUE(db_->Put({}, "other", "value").ok()); }).join();
  }
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  EXPECT_EQ(Asked().operations, 2u);
}

TEST_F(ThrottledDbTest, EachThreadIsAPartyUnlessItWorksForOne) {
  const uint64_t here = PartyOfThread(WorkClass::kBulk).id;
  uint64_t there = here;
  std::thread([&] { there = PartyOfThread(WorkClass::kBulk).id; }).join();
  EXPECT_NE(here, 0u);
  EXPECT_NE(here, there) << "both threads lived";
  {
    const AsParty outer(7, 3);
    const AsParty inner(8);
    EXPECT_EQ(PartyOfThread(WorkClass::kBulk).id, 8u);
    EXPECT_EQ(PartyOfThread(WorkClass::kBulk).group, 0u);
    const AsParty again(0);
    EXPECT_EQ(PartyOfThread(WorkClass::kBulk).id, here);
  }
  EXPECT_EQ(PartyOfThread(WorkClass::kInteractive).id, here);
  EXPECT_EQ(PartyOfThread(WorkClass::kInteractive).work_class, WorkClass::kInteractive);
}

TEST_F(ThrottledDbTest, AWriteWaitsUntilItIsAdmitted) {
  HoldBulkWork();
  const rocksdb::Status s = WhileItWaits([&] { return db_->Put({}, index(), "key", "value"); },
                                         [&] {
                                           EXPECT_EQ(Get("key", index()), "NotFound: ");
                                           EXPECT_TRUE(db_->Put({}, "key", "interactive").ok());
                                           EndHold();
                                         });
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(Get("key", index()), "value");
}

TEST_F(ThrottledDbTest, ARefusalIsBusyWithTheReason) {
  HoldBulkWork();
  const rocksdb::Status s =
      WhileItWaits([&] { return db_->Put({}, index(), "key", "value"); }, [&] { LetWaitsExpire(); });
  EXPECT_TRUE(s.IsBusy());
  EXPECT_NE(s.ToString().find("weir refused the write: emergency: try again in "), std::string::npos) << s.ToString();
  EXPECT_EQ(Get("key", index()), "NotFound: ");
}

// After Busy a program tries again, and this write would be refused each time.
TEST_F(ThrottledDbTest, AWriteThatIsTooLargeIsAnInvalidArgument) {
  Say(0.85);
  Tick();
  std::string value;
  value.resize(20'000'000, 'v');  // two seconds at the drain, and the longest wait is one
  WriteBatch batch;
  ASSERT_TRUE(batch.Put("key", value).ok());
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  for (const rocksdb::Status& s : {db_->Put({}, "key", value), db_->Write({}, &batch), db_->Put(at_once, "key", value),
                                   weir::Write(*limiter_, *db_->GetBaseDB(), &batch)}) {
    EXPECT_TRUE(s.IsInvalidArgument());
    EXPECT_NE(s.ToString().find("weir refused the write: a write of at least 16 MiB takes longer than the longest"),
              std::string::npos)
        << s.ToString();
    EXPECT_EQ(s.ToString().find("try again"), std::string::npos) << s.ToString();
  }
  EXPECT_EQ(db_->GetLatestSequenceNumber(), 0u);
}

TEST_F(ThrottledDbTest, AWriteThatMayNotBeRefusedPasses) {
  Open({.bulk_families = {"index"}, .refused = RefusedWrites::kPass});
  HoldBulkWork();
  const rocksdb::Status s =
      WhileItWaits([&] { return db_->Put({}, index(), "key", "value"); }, [&] { LetWaitsExpire(); });
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(Get("key", index()), "value");
  const Flow asked = AskedInBulk();
  EXPECT_EQ(asked.operations, 1u);
  EXPECT_EQ(asked.bytes, 8u);
}

TEST_F(ThrottledDbTest, AWriteWithoutSlowdownDoesNotWait) {
  HoldBulkWork();
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  for (RefusedWrites refused : {RefusedWrites::kBusy, RefusedWrites::kPass}) {
    Open({.bulk_families = {"index"}, .refused = refused});
    EXPECT_TRUE(db_->Put(at_once, index(), "key", "value").IsIncomplete());
    EXPECT_TRUE(db_->Put(at_once, "key", "value").ok());
  }
}

TEST_F(ThrottledDbTest, WritesOfManyThreadsAreAllAskedFor) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) EXPECT_TRUE(db_->Put({}, std::to_string(t * 500 + i + 10'000), "value").ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Flow asked = Asked();
  EXPECT_EQ(asked.operations, 2000u);
  EXPECT_EQ(asked.bytes, uint64_t{2000} * 10);
}

TEST_F(ThrottledDbTest, NoBatchIsTheErrorOfRocksDb) {
  EXPECT_TRUE(db_->Write({}, nullptr).IsInvalidArgument());
  EXPECT_TRUE(weir::Write(*limiter_, *db_->GetBaseDB(), nullptr).IsInvalidArgument());
  EXPECT_EQ(Asked().operations, 0u);
}

class SplitBatchTest : public ThrottledDbTest {
 protected:
  static constexpr uint64_t kPiece = 4096;
  static constexpr uint64_t kHeader = 12;  // bytes of an empty batch

  SplitBatchTest() {
    Open({.bulk_families = {"index"}, .split_bulk_batches_over_bytes = kPiece});
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(100 + i);
      EXPECT_TRUE(batch_.Put(index(), key, std::string(1000, 'v')).ok());
      if (i % 2 == 0) {
        EXPECT_TRUE(batch_.Delete(index(), key).ok());
      }
      EXPECT_TRUE(batch_.Merge(index(), "order", std::to_string(i)).ok());
    }
    EXPECT_TRUE(batch_.PutLogData("log").ok() && batch_.SingleDelete(index(), "once").ok() &&
                batch_.DeleteRange(index(), "100", "102").ok());
  }
  void ExpectAllThere() {
    EXPECT_EQ(Get("order", index()), "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19");
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(Get(std::to_string(100 + i), index()).size() == 1000, i % 2 == 1 && i > 1) << i;
  }

  WriteBatch batch_;
};

TEST_F(SplitBatchTest, ALargeBulkBatchIsWrittenInPiecesInItsOrder) {
  ASSERT_TRUE(db_->Write({}, &batch_).ok());
  ExpectAllThere();
  const Flow asked = AskedInBulk();
  EXPECT_EQ(asked.operations, 6u);
  EXPECT_EQ(asked.bytes, batch_.GetDataSize() + 5 * kHeader) << "each further piece has a header";
  EXPECT_EQ(db_->GetLatestSequenceNumber(), batch_.Count());
}

TEST_F(SplitBatchTest, InteractiveAndSmallBatchesStayWhole) {
  WriteBatch small;
  ASSERT_TRUE(small.Put(index(), "key", "value").ok());
  ASSERT_TRUE(db_->Write({}, &small).ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  ASSERT_TRUE(batch_.Put("interactive", "value").ok());
  ASSERT_TRUE(db_->Write({}, &batch_).ok());
  EXPECT_EQ(Asked().operations, 1u);
  ExpectAllThere();
}

TEST_F(SplitBatchTest, ALargeBatchOfEntitiesIsWrittenInPieces) {
  WriteBatch entities;
  const std::string value(1000, 'v');
  const rocksdb::WideColumns columns{{rocksdb::kDefaultWideColumnName, value}, {"column", "value"}};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(entities.PutEntity(index(), std::to_string(i), columns).ok());
  ASSERT_TRUE(db_->Write({}, &entities).ok());
  EXPECT_EQ(AskedInBulk().operations, 3u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get(std::to_string(i), index()).size(), 1000u) << i;
}

TEST_F(SplitBatchTest, APieceHasTheNumberOfItsRecords) {
  WriteBatch small;
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(small.Put(index(), std::to_string(1000 + i), "").ok());
  ASSERT_TRUE(db_->Write({}, &small).ok()) << "RocksDB compares the number with the records";
  EXPECT_EQ(AskedInBulk().operations, 6u);
  EXPECT_EQ(db_->GetLatestSequenceNumber(), 3000u);
}

TEST_F(SplitBatchTest, ABatchWithAMarkerStaysWhole) {
  // 0x0d is the record with which RocksDB separates the parts of a transaction.
  WriteBatch marked(batch_.Data() + '\x0d');
  ASSERT_TRUE(db_->Write({}, &marked).ok());
  const Flow asked = AskedInBulk();
  EXPECT_EQ(asked.operations, 1u);
  EXPECT_EQ(asked.bytes, marked.GetDataSize());
  ExpectAllThere();
}

TEST_F(SplitBatchTest, ABatchWithoutSlowdownStaysWhole) {
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  ASSERT_TRUE(db_->Write(at_once, &batch_).ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  ExpectAllThere();
}

TEST_F(SplitBatchTest, ARefusedBatchHasWrittenNoPiece) {
  HoldBulkWork();
  EXPECT_TRUE(WhileItWaits([&] { return db_->Write({}, &batch_); }, [&] { LetWaitsExpire(); }).IsBusy());
  EXPECT_EQ(db_->GetLatestSequenceNumber(), 0u);
}

TEST_F(ThrottledDbTest, ThePlainWriteAsksForItsParty) {
  WriteBatch batch;
  ASSERT_TRUE(batch.Put("key", "value").ok());
  rocksdb::DB& below = *db_->GetBaseDB();
  ASSERT_TRUE(weir::Write(*limiter_, below, &batch, {.id = 7}).ok());
  const Flow asked = Asked();
  EXPECT_EQ(asked.operations, 1u);
  EXPECT_EQ(asked.bytes, batch.GetDataSize());
  EXPECT_EQ(Get("key"), "value");

  rocksdb::WriteOptions low;
  low.low_pri = true;
  ASSERT_TRUE(weir::Write(*limiter_, below, &batch, {}, low).ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  HoldBulkWork();
  const auto write = [&] { return weir::Write(*limiter_, below, &batch, {.id = 7, .work_class = WorkClass::kBulk}); };
  EXPECT_TRUE(WhileItWaits(write, [&] { LetWaitsExpire(); }).IsBusy());
  EXPECT_EQ(db_->GetLatestSequenceNumber(), 2u);
}

}  // namespace
}  // namespace weir
