// BlockingDb: a database of which one call waits until the test lets it go on, like a call that stands behind delayed
// writers or waits for the disk.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "rocksdb/utilities/stackable_db.h"
#include "tests/fixtures/eventually.h"

namespace weir {

class BlockingDb final : public rocksdb::StackableDB {
 public:
  // A change of options begins with the question whether the database is read-only (IsReadOnly).
  enum class Call { kNone, kFlush, kChangeOfOptions, kListFamilies, kSample };

  // Does not own the database.
  explicit BlockingDb(rocksdb::DB* db) : StackableDB(std::shared_ptr<rocksdb::DB>(db, [](rocksdb::DB*) {})) {}

  void Block(Call call) { blocked_ = call; }
  // Returns true once a call waits.
  bool AwaitBlocked() {
    return Eventually([this] { return waiting_ > 0; });
  }
  void LetGo() {
    blocked_ = Call::kNone;
    blocked_.notify_all();
  }
  // Returns how many of the calls that were blocked have returned.
  int ended() const { return ended_; }

  rocksdb::DB* GetRootDB() override { return this; }
  using StackableDB::Flush;
  rocksdb::Status Flush(const rocksdb::FlushOptions& options, rocksdb::ColumnFamilyHandle* family) override {
    Pass(Call::kFlush);
    return StackableDB::Flush(options, family);
  }
  using StackableDB::IngestExternalFile;
  rocksdb::Status IngestExternalFile(rocksdb::ColumnFamilyHandle* family, const std::vector<std::string>& files,
                                     const rocksdb::IngestExternalFileOptions& options) override {
    Pass(Call::kChangeOfOptions);
    return StackableDB::IngestExternalFile(family, files, options);
  }
  using StackableDB::GetDBOptions;
  rocksdb::DBOptions GetDBOptions() const override {
    Pass(Call::kListFamilies);
    return StackableDB::GetDBOptions();
  }
  using StackableDB::GetIntProperty;
  bool GetIntProperty(rocksdb::ColumnFamilyHandle* family, const rocksdb::Slice& property, uint64_t* value) override {
    Pass(Call::kSample);
    return StackableDB::GetIntProperty(family, property, value);
  }

 private:
  void Pass(Call call) const {
    if (blocked_ != call) return;
    ++waiting_;
    blocked_.wait(call);
    --waiting_;
    ++ended_;
  }

  std::atomic<Call> blocked_{Call::kNone};
  mutable std::atomic<int> waiting_{0};
  mutable std::atomic<int> ended_{0};
};

}  // namespace weir
