// A real RocksDB in a temporary directory, opened with the test's options.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "monitors/rocksdb_version.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {

inline constexpr uint64_t kMiB = 1 << 20;

// Returns the options of an engine that can be filled in milliseconds. It does not compress, so the bytes in its files
// are the bytes that were written.
inline rocksdb::Options SmallEngine() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 256 << 10;
  options.max_write_buffer_number = 4;
  options.level0_file_num_compaction_trigger = 4;
  options.level0_slowdown_writes_trigger = 12;
  options.level0_stop_writes_trigger = 20;
  options.max_bytes_for_level_base = 2 << 20;
  options.target_file_size_base = 256 << 10;
  options.level_compaction_dynamic_level_bytes = false;  // the default differs between versions of RocksDB
  return options;
}

class TestDb {
 public:
  ~TestDb() { Close(); }

  void Open(const rocksdb::Options& options, const std::vector<std::string>& more_families = {}) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, options}};
    for (const std::string& name : more_families) families.emplace_back(name, options);
    Open(options, families);
  }
  void Open(const rocksdb::DBOptions& options, const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
    OpenedRocksDb opened{};
    const rocksdb::Status status = rocksdb::DB::Open(options, path(), families, &handles_, &opened);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_ = OwnerOf(&opened);
  }
  void Close() {
    for (auto* handle : TakeHandles()) db_->DestroyColumnFamilyHandle(handle);
    db_.reset();
  }
  // Leaves it to the caller to destroy the handles.
  std::vector<rocksdb::ColumnFamilyHandle*> TakeHandles() { return std::exchange(handles_, {}); }

  // Writes random keys and values, so that files overlap and nothing compresses.
  void Write(uint64_t bytes, size_t family = 0) {
    constexpr size_t kValue = 1000;
    std::string value(kValue, '\0');
    for (uint64_t written = 0; written < bytes; written += kValue) {
      for (char& c : value) c = static_cast<char>(random_());
      const std::string key = std::to_string(random_());
      ASSERT_TRUE(db_->Put({}, handles_[family], key, value).ok());
    }
  }
  // Writes one L0 file.
  void WriteFile(size_t family = 0) {
    Write(32 << 10, family);
    ASSERT_TRUE(db_->Flush({}, handles_[family]).ok());
  }

  // Returns the names of all tables.
  std::vector<std::string> Tables() {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    std::vector<std::string> names;
    for (const rocksdb::LiveFileMetaData& file : files) names.push_back(file.name);
    return names;
  }
  // Waits until the family has one file in L0. A flush, which runs in the background, makes it.
  void AwaitFileInL0(size_t family) {
    std::string files;
    const auto has_one = [&] {
      return db_->GetProperty(handles_[family], "rocksdb.num-files-at-level0", &files) && files == "1";
    };
    ASSERT_TRUE(Eventually(has_one)) << "files in L0: " << files;
  }

  rocksdb::DB* db() { return db_.get(); }
  const std::vector<rocksdb::ColumnFamilyHandle*>& handles() const { return handles_; }
  const std::string& path() const { return directory_.path(); }

 private:
  TempDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::mt19937_64 random_{7};
};

}  // namespace weir
