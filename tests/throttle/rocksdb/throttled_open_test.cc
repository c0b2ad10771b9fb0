// Opens each kind of throttled database with its own throttle.
#include <gtest/gtest.h>

#include "tests/fixtures/temp_directory.h"
#include "tests/monitors/rocksdb_fixture.h"
#include "throttle/rocksdb/throttled_db.h"
#include "throttle/rocksdb/throttled_transaction_db.h"

namespace weir {
namespace {

constexpr uint64_t kTarget = 512 * kMiB;

using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
using Descriptors = std::vector<rocksdb::ColumnFamilyDescriptor>;

// The functions of the three kinds, under one name.
struct Plain {
  using Db = ThrottledDb;
  static rocksdb::Status Open(const rocksdb::Options& o, const std::string& path, uint64_t target,
                              std::unique_ptr<Db>* db, const ThrottledDbOptions& t = {}) {
    return Db::Open(o, path, target, db, t);
  }
  static rocksdb::Status Open(const rocksdb::Options& o, const std::string& path, const Descriptors& families,
                              Handles* handles, std::unique_ptr<Db>* db, const ThrottledDbOptions& t = {}) {
    return Db::Open(o, path, families, handles, kTarget, db, t);
  }
};
struct Pessimistic {
  using Db = ThrottledTransactionDb;
  static rocksdb::Status Open(const rocksdb::Options& o, const std::string& path, uint64_t target,
                              std::unique_ptr<Db>* db, const ThrottledDbOptions& t = {}) {
    return Db::Open(o, {}, path, target, db, t);
  }
  static rocksdb::Status Open(const rocksdb::Options& o, const std::string& path, const Descriptors& families,
                              Handles* handles, std::unique_ptr<Db>* db, const ThrottledDbOptions& t = {}) {
    return Db::Open(o, {}, path, families, handles, kTarget, db, t);
  }
};
struct Optimistic {
  using Db = ThrottledOptimisticTransactionDb;
  static rocksdb::Status Open(const rocksdb::Options& o, const std::string& path, uint64_t target,
                              std::unique_ptr<Db>* db, const ThrottledDbOptions& t = {}) {
    return Db::Open(o, path, target, db, t);
  }
  static rocksdb::Status Open(const rocksdb::Options& o, const std::string& path, const Descriptors& families,
                              Handles* handles, std::unique_ptr<Db>* db, const ThrottledDbOptions& t = {}) {
    return Db::Open(o, {}, path, families, handles, kTarget, db, t);
  }
};

template <typename Kind>
class ThrottledOpenTest : public testing::Test {
 protected:
  Descriptors TwoFamilies() const {
    return {{rocksdb::kDefaultColumnFamilyName, SmallEngine()}, {"index", SmallEngine()}};
  }
  rocksdb::Status Open() { return Kind::Open(SmallEngine(), directory_.path(), kTarget, &db_); }

  TempDirectory directory_;
  std::unique_ptr<typename Kind::Db> db_;
};

using Kinds = testing::Types<Plain, Pessimistic, Optimistic>;
TYPED_TEST_SUITE(ThrottledOpenTest, Kinds);

TYPED_TEST(ThrottledOpenTest, ADatabaseIsSensedAndItsWritesAsk) {
  const rocksdb::Status s = this->Open();
  ASSERT_TRUE(s.ok()) << s.ToString();
  rocksdb::DB& db = *this->db_;
  ASSERT_TRUE(db.Put({}, "key", "value").ok());
  RocksDbThrottle& throttle = *this->db_->throttle();
  EXPECT_EQ(throttle.limiter().Stats(Operation::kWrite).admitted[0].operations, 1u);
  EXPECT_TRUE(Eventually([&] { return throttle.View().sample.Find("l0") != nullptr; }));
  EXPECT_GT(db.GetOptions().level0_slowdown_writes_trigger, SmallEngine().level0_slowdown_writes_trigger)
      << "the brakes are moved";
}

TYPED_TEST(ThrottledOpenTest, AFamilyIsMeasuredFromItsCreationUntilItIsDropped) {
  ASSERT_TRUE(this->Open().ok());
  RocksDbThrottle& throttle = *this->db_->throttle();
  rocksdb::ColumnFamilyHandle* tenant = nullptr;
  ASSERT_TRUE(this->db_->CreateColumnFamily(SmallEngine(), "tenant", &tenant).ok());
  EXPECT_FALSE(throttle.AddFamily(tenant).ok()) << "it is measured already";
  ASSERT_TRUE(this->db_->DropColumnFamily(tenant).ok());
  EXPECT_FALSE(throttle.RemoveFamily(tenant).ok()) << "it is not measured any more";
  EXPECT_TRUE(this->db_->DestroyColumnFamilyHandle(tenant).ok());
}

TYPED_TEST(ThrottledOpenTest, AllFamiliesAreSensedUntilTheirHandlesEnd) {
  Handles handles;
  const ThrottledDbOptions options{.writes = {.bulk_families = {"index"}}};
  const rocksdb::Status s =
      TypeParam::Open(SmallEngine(), this->directory_.path(), this->TwoFamilies(), &handles, &this->db_, options);
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_TRUE(this->db_->Put({}, handles[1], "key", std::string(20'000, 'v')).ok());
  RocksDbThrottle& throttle = *this->db_->throttle();
  EXPECT_EQ(throttle.limiter().Stats(Operation::kWrite).admitted[1].operations, 1u);
  ASSERT_TRUE(this->db_->Flush({}, handles[1]).ok());
  const auto files_in_l0 = [&throttle] { return throttle.monitor().Details().l0_files; };
  EXPECT_TRUE(Eventually([&] { return files_in_l0() == 1; })) << "the second family has " << files_in_l0();
  // The usual order of a program: the handles, then the database.
  for (auto* handle : handles) EXPECT_TRUE(this->db_->DestroyColumnFamilyHandle(handle).ok());
  EXPECT_TRUE(Eventually([&] { return files_in_l0() == 0; })) << "the default family is left: " << files_in_l0();
}

TYPED_TEST(ThrottledOpenTest, TheDefaultFamilyAloneMayBeABulkFamily) {
  const ThrottledDbOptions options{.writes = {.bulk_families = {"default"}}};
  ASSERT_TRUE(TypeParam::Open(SmallEngine(), this->directory_.path(), kTarget, &this->db_, options).ok());
  ASSERT_TRUE(this->db_->Put({}, "key", "value").ok());
  EXPECT_EQ(this->db_->throttle()->limiter().Stats(Operation::kWrite).admitted[1].operations, 1u);
}

TYPED_TEST(ThrottledOpenTest, ADeletedDatabaseOpensAgain) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(this->Open().ok());
    ASSERT_TRUE(this->db_->Put({}, "key", "value").ok());
    std::unique_ptr<rocksdb::DB> as_before(this->db_.release());
  }
}

TYPED_TEST(ThrottledOpenTest, ADatabaseMayBeClosedBeforeItIsDeleted) {
  ASSERT_TRUE(this->Open().ok());
  EXPECT_TRUE(this->db_->Close().ok());
  EXPECT_TRUE(this->db_->Close().ok());
}

TYPED_TEST(ThrottledOpenTest, ADatabaseThatASnapshotKeepsOpenIsStillThrottled) {
  ASSERT_TRUE(this->Open().ok());
  RocksDbThrottle& throttle = *this->db_->throttle();
  const rocksdb::Snapshot* const snapshot = this->db_->GetSnapshot();
  EXPECT_TRUE(this->db_->Close().IsAborted());
  EXPECT_TRUE(Eventually([&] { return throttle.View()[WorkClass::kInteractive].reason != "stopped"; }));
  EXPECT_TRUE(this->db_->Put({}, "key", "value").ok());
  this->db_->ReleaseSnapshot(snapshot);
  EXPECT_TRUE(this->db_->Close().ok());
  EXPECT_EQ(throttle.View()[WorkClass::kInteractive].reason, "stopped");
}

TYPED_TEST(ThrottledOpenTest, AMistakeIsAnInvalidArgument) {
  rocksdb::Options none = SmallEngine();
  none.compaction_style = rocksdb::kCompactionStyleNone;
  const rocksdb::Status style = TypeParam::Open(none, this->directory_.path(), kTarget, &this->db_);
  EXPECT_TRUE(style.IsInvalidArgument()) << style.ToString();
  EXPECT_NE(style.ToString().find("compaction"), std::string::npos) << style.ToString();

  const rocksdb::Status target = TypeParam::Open(SmallEngine(), this->directory_.path(), 1, &this->db_);
  EXPECT_TRUE(target.IsInvalidArgument()) << target.ToString();

  ThrottledDbOptions contradiction;
  contradiction.limiter.recovery = contradiction.limiter.emergency;
  Handles handles;
  const rocksdb::Status settings =
      TypeParam::Open(SmallEngine(), this->directory_.path(), this->TwoFamilies(), &handles, &this->db_, contradiction);
  EXPECT_TRUE(settings.IsInvalidArgument()) << settings.ToString();
  EXPECT_TRUE(handles.empty()) << "the database was closed again";
  EXPECT_EQ(this->db_, nullptr);
  EXPECT_TRUE(this->Open().IsInvalidArgument()) << "the other family is not named";
}

TYPED_TEST(ThrottledOpenTest, AnErrorOfRocksDbIsPassedOn) {
  rocksdb::Options options = SmallEngine();
  options.create_if_missing = false;
  const rocksdb::Status s = TypeParam::Open(options, this->directory_.path() + "/none", kTarget, &this->db_);
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_NE(s.ToString().find("create_if_missing"), std::string::npos) << s.ToString();
}

TYPED_TEST(ThrottledOpenTest, WithoutALimiterTheBrakesStay) {
  const ThrottledDbOptions off{.limiter = {.enabled = false}};
  ASSERT_TRUE(TypeParam::Open(SmallEngine(), this->directory_.path(), kTarget, &this->db_, off).ok());
  EXPECT_EQ(this->db_->GetOptions().level0_slowdown_writes_trigger, SmallEngine().level0_slowdown_writes_trigger);
  EXPECT_TRUE(this->db_->Put({}, "key", "value").ok());
}

TEST(ThrottledWrapTest, TheCallerKeepsADatabaseThatCannotBeWrapped) {
  TempDirectory directory;
  rocksdb::Options options = SmallEngine();
  const auto prepared = PrepareRocksDb(kTarget, &options);
  OpenedRocksDb opened{};
  ASSERT_TRUE(rocksdb::DB::Open(options, directory.path(), &opened).ok());
  std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  std::unique_ptr<ThrottledDb> throttled;
  ThrottledDbOptions off{.limiter = {.enabled = false}};
  const rocksdb::Status s = ThrottledDb::Wrap(std::move(db), prepared.value(), {}, &throttled, off);
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(s.ToString().find("EngineBrakes::kAsSet"), std::string::npos) << s.ToString();
  ASSERT_NE(db, nullptr);
  ASSERT_TRUE(ThrottledDb::Wrap(std::move(db), prepared.value(), {}, &throttled).ok());
  EXPECT_TRUE(throttled->Put({}, "key", "value").ok());
}

}  // namespace
}  // namespace weir
