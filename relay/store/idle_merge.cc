#include "relay/store/idle_merge.h"

#include <string>

namespace weir {

IdleMerge::IdleMerge(const Database& database) : db_(database.db()) {
  for (rocksdb::ColumnFamilyHandle* handle : {database.events(), database.index()})
    families_.push_back(
        {.handle = handle, .usual_trigger = db_->GetOptions(handle).level0_file_num_compaction_trigger});
}

Status IdleMerge::Look() {
  for (Family& family : families_)
    if (Status status = Look(&family); !status.ok()) return status;
  return {};
}

Status IdleMerge::Look(Family* family) {
  uint64_t files = 0;
  std::string text;
  if (db_->GetProperty(family->handle, rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0", &text))
    files = std::stoull(text);
  const bool added = files > family->files;
  const bool changed = files != family->files;
  family->files = files;
  if (family->merging && (files == 0 || added)) {
    if (Status set = SetTrigger(*family, family->usual_trigger); !set.ok()) return set;
    family->merging = false;
  }
  family->quiet_looks = changed || files == 0 ? 0 : family->quiet_looks + 1;
  if (family->merging || family->quiet_looks < kQuietLooks) return {};
  if (Status set = SetTrigger(*family, 1); !set.ok()) return set;
  family->merging = true;
  return {};
}

Status IdleMerge::SetTrigger(const Family& family, int files) {
  const rocksdb::Status set =
      db_->SetOptions(family.handle, {{"level0_file_num_compaction_trigger", std::to_string(files)}});
  return set.ok() ? Status() : DatabaseError("cannot set when level 0 is merged", set);
}

}  // namespace weir
