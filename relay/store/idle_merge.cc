#include "relay/store/idle_merge.h"

#include <string>
#include <utility>

namespace weir {

IdleMerge::IdleMerge(const Database& database) : db_(database.db()) {
  for (rocksdb::ColumnFamilyHandle* handle : {database.events(), database.index()}) {
    const int trigger = database.prepared().geometry.at(handle->GetName()).l0_trigger;
    families_.push_back({.handle = handle, .usual_trigger = trigger, .trigger = trigger});
  }
}

Status IdleMerge::Look() {
  for (Family& family : families_)
    if (Status status = Look(&family); !status.ok()) return status;
  return {};
}

Status IdleMerge::Look(Family* family) {
  rocksdb::ColumnFamilyMetaData tree;
  db_->GetColumnFamilyMetaData(family->handle, &tree);
  std::vector<uint64_t> files;
  for (const rocksdb::SstFileMetaData& file : tree.levels[0].files) files.push_back(file.file_number);
  const bool is_quiet = !files.empty() && files == family->files;
  family->files = std::move(files);
  family->quiet_looks = is_quiet ? family->quiet_looks + 1 : 0;
  const bool merge = family->quiet_looks >= kQuietLooks;
  if (Status set = SetTrigger(family, merge ? 1 : family->usual_trigger); !set.ok()) return set;
  if (merge) family->quiet_looks = 0;
  return {};
}

Status IdleMerge::SetTrigger(Family* family, int files) {
  if (files == family->trigger) return {};
  const rocksdb::Status set =
      db_->SetOptions(family->handle, {{"level0_file_num_compaction_trigger", std::to_string(files)}});
  // RocksDB may have adopted the trigger although it could not write its options: then the next look sets it again.
  family->trigger = set.ok() ? files : 0;
  return set.ok() ? Status() : DatabaseError("cannot set when level 0 is merged", set);
}

}  // namespace weir
