#include "monitors/rocksdb_brakes.h"

#include <algorithm>
#include <limits>

#include "rocksdb/options.h"

namespace weir {
namespace {

// Makes all changes with one call, and so with one file of options, if RocksDB has such a call.
template <typename Db>
bool ChangeAtOnce(Db* db, const FamilyChanges& changes) {
  if constexpr (requires { db->SetOptions(changes); }) return db->SetOptions(changes).ok();
  return false;
}

}  // namespace

// Without a file to ingest this call does nothing, and only such a database answers that it does not support it.
bool IsReadOnly(rocksdb::DB* db) { return db->IngestExternalFile(db->DefaultColumnFamily(), {}, {}).IsNotSupported(); }

LsmBrakes LiftedBrakes(LsmBrakes brakes) {
  brakes.l0_slowdown = brakes.l0_stop = std::numeric_limits<int>::max();
  brakes.soft_pending_bytes = brakes.hard_pending_bytes = std::numeric_limits<uint64_t>::max();
  return brakes;
}

// RocksDB corrects brakes for L0 so when it opens a database, but SetOptions takes them as they are, and then RocksDB
// fails an assertion: the program may have raised the trigger. A limit of 0 for the debt is none.
LsmBrakes FitTo(const rocksdb::ColumnFamilyOptions& now, LsmBrakes brakes) {
  brakes.l0_slowdown = std::max(brakes.l0_slowdown, now.level0_file_num_compaction_trigger);
  brakes.l0_stop = std::max(brakes.l0_stop, brakes.l0_slowdown);
  if (now.soft_pending_compaction_bytes_limit == 0) brakes.soft_pending_bytes = 0;
  if (now.hard_pending_compaction_bytes_limit == 0) brakes.hard_pending_bytes = 0;
  return brakes;
}

OptionChanges ChangesTo(const LsmBrakes& brakes, const rocksdb::ColumnFamilyOptions& now) {
  OptionChanges changes;
  const auto set = [&changes](const char* name, auto present, auto wanted) {
    if (present != wanted) changes.emplace(name, std::to_string(wanted));
  };
  const LsmBrakes wanted = FitTo(now, brakes);
  set("max_write_buffer_number", now.max_write_buffer_number, wanted.max_write_buffers);
  set("level0_slowdown_writes_trigger", now.level0_slowdown_writes_trigger, wanted.l0_slowdown);
  set("level0_stop_writes_trigger", now.level0_stop_writes_trigger, wanted.l0_stop);
  set("soft_pending_compaction_bytes_limit", now.soft_pending_compaction_bytes_limit, wanted.soft_pending_bytes);
  set("hard_pending_compaction_bytes_limit", now.hard_pending_compaction_bytes_limit, wanted.hard_pending_bytes);
  return changes;
}

Status ChangeOptions(rocksdb::DB* db, const FamilyChanges& changes) {
  if (changes.empty() || IsReadOnly(db) || ChangeAtOnce(db, changes)) return {};
  Status changed;
  for (const auto& [family, options] : changes) {
    const rocksdb::Status set = db->SetOptions(family, options);
    if (set.ok() || set.IsColumnFamilyDropped()) continue;
    changed =
        Status::Error("RocksDB did not take the brakes of column family " + family->GetName() + ": " + set.ToString());
  }
  return changed;
}

}  // namespace weir
