#include "monitors/rocksdb_brakes.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

#include "rocksdb/options.h"

namespace weir {

// Without a file to ingest this call does nothing, and only such a database answers that it does not support it.
bool IsReadOnly(rocksdb::DB* db) { return db->IngestExternalFile(db->DefaultColumnFamily(), {}, {}).IsNotSupported(); }

LsmBrakes LiftedBrakes(LsmBrakes brakes) {
  brakes.l0_slowdown = brakes.l0_stop = std::numeric_limits<int>::max();
  brakes.soft_pending_bytes = brakes.hard_pending_bytes = std::numeric_limits<uint64_t>::max();
  return brakes;
}

Status SetBrakes(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const LsmBrakes& brakes) {
  const rocksdb::ColumnFamilyOptions now = db->GetOptions(family);
  std::unordered_map<std::string, std::string> changes;
  const auto set = [&changes](const char* name, auto present, auto wanted) {
    if (present != wanted) changes.emplace(name, std::to_string(wanted));
  };
  // A limit of 0 for the debt is none.
  const auto limit = [&set](const char* name, uint64_t present, uint64_t wanted) {
    if (present > 0) set(name, present, wanted);
  };
  set("max_write_buffer_number", now.max_write_buffer_number, brakes.max_write_buffers);
  // RocksDB corrects these so when it opens a database, but SetOptions takes them as they are, and then RocksDB fails
  // an assertion: the program may have raised the trigger.
  const int slowdown = std::max(brakes.l0_slowdown, now.level0_file_num_compaction_trigger);
  set("level0_slowdown_writes_trigger", now.level0_slowdown_writes_trigger, slowdown);
  set("level0_stop_writes_trigger", now.level0_stop_writes_trigger, std::max(brakes.l0_stop, slowdown));
  limit("soft_pending_compaction_bytes_limit", now.soft_pending_compaction_bytes_limit, brakes.soft_pending_bytes);
  limit("hard_pending_compaction_bytes_limit", now.hard_pending_compaction_bytes_limit, brakes.hard_pending_bytes);
  if (changes.empty() || IsReadOnly(db)) return {};
  const rocksdb::Status set_options = db->SetOptions(family, changes);
  if (set_options.ok() || set_options.IsColumnFamilyDropped()) return {};
  return Status::Error("RocksDB did not take the brakes of column family " + family->GetName() + ": " +
                       set_options.ToString());
}

}  // namespace weir
