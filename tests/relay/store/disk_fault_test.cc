// A disk that fails once: RocksDB then takes nothing more for as long as it is open, and the store says so.
#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/failing_disk.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class DiskFault : public testing::Test {
 protected:
  void Open() {
    StoreOptions options = SmallStore(directory_ / "events");
    options.settings.sync = SyncMode::kBatch;
    store_.reset();
    store_ = MustOpen(options);
    ASSERT_NE(store_, nullptr);
  }
  Status Save(const PlainEvent& event) {
    const Event record = ToEvent(event);
    SaveResult result;
    return store_->Save({&record, 1}, 0, {&result, 1});
  }

  const TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_;
  const PlainEvent saved_ = Plain(Author(1), 1, 1, {}, "saved");
  const PlainEvent lost_ = Plain(Author(1), 2, 1, {}, "lost");
};

TEST_F(DiskFault, AFailedSyncStopsSavingUntilTheNextStart) {
  Open();
  ASSERT_TRUE(Save(saved_).ok());
  EXPECT_TRUE(store_->Stuck().ok());
  {
    const FailingSyncs failing;
    const Status first = Save(lost_);
    EXPECT_TRUE(Has(first.message(), "until this program is started again")) << first.message();
  }
  const Status second = Save(lost_);
  EXPECT_TRUE(Has(second.message(), "until this program is started again")) << second.message();
  EXPECT_EQ(store_->Stuck().message(), second.message());
  EXPECT_TRUE(store_->Has(ToBytes(saved_.id)).value()) << "it is still read";
  Open();
  EXPECT_TRUE(store_->Stuck().ok());
  EXPECT_TRUE(Save(lost_).ok());
}

TEST_F(DiskFault, StrangersAreToldWhatFailedAndNotWhereItIs) {
  Open();
  const FailingSyncs failing;
  const Status failed = Save(lost_);
  EXPECT_TRUE(Has(failed.message(), directory_.path())) << failed.message();
  const std::string told = ErrorForStrangers(failed);
  EXPECT_TRUE(told.starts_with("cannot save: IO error; nothing can be saved until")) << told;
  EXPECT_FALSE(Has(told, "/")) << told;
}

TEST_F(DiskFault, StrangersAreToldOtherErrorsWithoutAddresses) {
  EXPECT_EQ(ErrorForStrangers(Status::Error("shutting down")), "shutting down");
  EXPECT_EQ(ErrorForStrangers(Status::Error("PostgreSQL: no connection to 10.0.0.5")), "the database is away");
}

}  // namespace
}  // namespace weir
