#include "monitors/rocksdb_opened.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "monitors/rocksdb_brakes.h"
#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_mark.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"

namespace weir {
namespace {

using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
using Names = std::set<std::string>;

// The remedy for a database that was opened with other options than those prepared.
constexpr const char* kPassPrepared =
    ". Pass to DB::Open the options that PrepareRocksDb changed, not an earlier copy of them";

// Returns the names of the column families on disk; nullopt if they cannot be read.
std::optional<Names> FamiliesOnDisk(rocksdb::DB* db) {
  std::vector<std::string> names;
  if (!rocksdb::DB::ListColumnFamilies(db->GetDBOptions(), db->GetName(), &names).ok()) return std::nullopt;
  return Names(names.begin(), names.end());
}

// RocksDB does not say to which database a handle belongs. But the files of a family are in the directory of its
// database, unless the program chose another one. The program may have written the path of the database in another way.
bool IsInAnotherDatabase(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle) {
  const rocksdb::Options options = db->GetOptions(handle);
  if (options.cf_paths.empty() || options.db_paths.empty()) return false;
  const std::string& path = options.cf_paths.front().path;
  std::string own;
  std::string other;
  return path != options.db_paths.front().path && db->GetDbIdentity(own).ok() &&
         rocksdb::ReadFileToString(options.env, path + "/IDENTITY", &other).ok() && other != own;
}

Status CheckHandles(rocksdb::DB* db, const Handles& handles, const std::optional<Names>& on_disk) {
  for (size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == nullptr) {
      return Status::Error("handle " + std::to_string(i + 1) + " of " + std::to_string(handles.size()) +
                           " is a null pointer: pass the handles that DB::Open filled in");
    }
    const std::string& name = handles[i]->GetName();
    if (IsInAnotherDatabase(db, handles[i]) || (on_disk && !on_disk->contains(name))) {
      return Status::Error("the handle of column family " + name + " does not belong to the database in " +
                           db->GetName() + ": pass the handles that DB::Open filled in for this database");
    }
    if (Status good = CheckCompaction(db->GetOptions(handles[i]), name); !good.ok()) return good;
  }
  return {};
}

Status CheckDatabase(const rocksdb::DBOptions& opened, const PreparedRocksDb& prepared) {
  const bool has_listener = !prepared.listener || std::find(opened.listeners.begin(), opened.listeners.end(),
                                                            prepared.listener) != opened.listeners.end();
  const bool has_manager =
      !prepared.write_buffer_manager || opened.write_buffer_manager == prepared.write_buffer_manager;
  if (has_listener && has_manager) return {};
  return Status::Error(std::string("the database was not opened with the options that were prepared: ") +
                       (has_listener ? "its WriteBufferManager is another one" : "weir's listener is missing") +
                       kPassPrepared);
}

std::string InWords(const LsmBrakes& brakes, int buffers_per_flush) {
  return "brakes at " + std::to_string(brakes.l0_slowdown) + " and " + std::to_string(brakes.l0_stop) +
         " files in L0 and " + std::to_string(brakes.max_write_buffers) + " write buffers, of which a flush merges " +
         std::to_string(buffers_per_flush);
}

Status CheckFamily(const rocksdb::ColumnFamilyOptions& opened, const std::string& name,
                   const PreparedRocksDb& prepared) {
  const auto known = prepared.geometry.find(name);
  if (known == prepared.geometry.end()) return {};
  const LsmGeometry& geometry = known->second;
  // The brakes of marked options were changed while the database was open.
  if (geometry.brakes_moved && !HasBrakesOf(geometry, opened) && !IsMarked(opened)) {
    return Status::Error("column family " + name + " was opened with " +
                         InWords(BrakesIn(opened), opened.min_write_buffer_number_to_merge) + ", but prepared with " +
                         InWords(BrakesOf(geometry), geometry.buffers_per_flush) + kPassPrepared);
  }
  if (!prepared.block_cache || !HasDefaultCache(opened)) return {};
  const auto* table = opened.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  if (table->block_cache == prepared.block_cache) return {};
  return Status::Error("column family " + name + " has RocksDB's own block cache, not the prepared one" +
                       kPassPrepared);
}

// Returns the names of the families that were opened with prepared options, as RocksDB stored them; none if it
// stored no options that can be read. A program may have opened more families with prepared options than it prepared.
// A database that is read-only may have opened fewer families than those whose options its writer stored.
Names MarkedFamilies(rocksdb::DB* db) {
  if (IsReadOnly(db->GetRootDB())) return {};
  rocksdb::ConfigOptions config;
  config.env = db->GetEnv();
  config.ignore_unknown_options = true;
  rocksdb::DBOptions stored;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Names names;
  if (!rocksdb::LoadLatestOptions(config, db->GetName(), &stored, &families).ok()) return names;
  for (const rocksdb::ColumnFamilyDescriptor& family : families)
    if (IsMarked(family.options)) names.insert(family.name);
  return names;
}

Status CheckNoFamilyIsMissing(rocksdb::DB* db, const Handles& handles, const std::optional<Names>& on_disk,
                              const PreparedRocksDb& prepared) {
  Names expected = MarkedFamilies(db);
  for (const auto& [name, geometry] : prepared.geometry) expected.insert(name);
  for (const std::string& name : expected) {
    const auto is_it = [&name](rocksdb::ColumnFamilyHandle* handle) { return handle->GetName() == name; };
    if (std::ranges::any_of(handles, is_it) || (on_disk && !on_disk->contains(name))) continue;
    return Status::Error("column family " + name +
                         " was opened with prepared options, but its handle is missing, so its writes would not be "
                         "limited: pass its handle, too, or open the family with options that were not prepared");
  }
  return {};
}

}  // namespace

Status CheckOpened(rocksdb::DB* db, const Handles& handles, const PreparedRocksDb* prepared, uint64_t target_bytes) {
  if (db == nullptr) return Status::Error("the database is a null pointer: open it, and pass what DB::Open filled in");
  if (target_bytes == 0) {
    return Status::Error(
        "the memory target is 0: pass the number of bytes that the whole program may use (ResolveMemoryTarget computes "
        "it from the free memory)");
  }
  const std::optional<Names> on_disk = FamiliesOnDisk(db);
  if (Status good = CheckHandles(db, handles, on_disk); !good.ok()) return good;
  if (prepared == nullptr) return {};
  if (Status good = CheckDatabase(db->GetDBOptions(), *prepared); !good.ok()) return good;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (Status good = CheckFamily(db->GetOptions(handle), handle->GetName(), *prepared); !good.ok()) return good;
  }
  return CheckNoFamilyIsMissing(db, handles, on_disk, *prepared);
}

}  // namespace weir
