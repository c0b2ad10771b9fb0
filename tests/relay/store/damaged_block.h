// Damage on the disk.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/keys.h"
#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

inline void FlipByte(const std::filesystem::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(~file.get());
  file.seekp(at).put(byte);
}

// Closes a store, damages the first block of its records on the disk, and opens it again.
inline std::unique_ptr<RocksDbStore> WithADamagedBlock(std::unique_ptr<RocksDbStore> store,
                                                       const StoreOptions& options) {
  EXPECT_TRUE(store->Flush().ok());
  std::vector<rocksdb::LiveFileMetaData> files;
  store->db()->GetLiveFilesMetaData(&files);
  const auto records =
      std::ranges::find(files, std::string(kEventsFamily), &rocksdb::LiveFileMetaData::column_family_name);
  if (records == files.end()) return nullptr;
  const std::string path = records->db_path + records->name;
  store.reset();
  FlipByte(path, 100);
  return MustOpen(options);
}

}  // namespace weir
