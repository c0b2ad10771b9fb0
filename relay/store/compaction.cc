#include "relay/store/compaction.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "config/text/readable.h"
#include "relay/store/database.h"
#include "rocksdb/metadata.h"

namespace weir {
namespace {

constexpr uint64_t kPieceBytes = 64 << 20;

// A part of a column family from a key on, as the deepest level shows it.
struct Part {
  std::optional<std::string> end;  // the last key; nullopt: to the end of the family
  uint64_t bytes = 0;
  uint64_t bytes_behind = 0;
};

Part PartFrom(const rocksdb::ColumnFamilyMetaData& family, const std::string& begin) {
  const rocksdb::LevelMetaData* deepest = nullptr;
  for (const rocksdb::LevelMetaData& level : family.levels)
    if (!level.files.empty()) deepest = &level;
  // The files of level 0 overlap.
  if (deepest == nullptr || deepest->level == 0) return {.end = std::nullopt, .bytes = family.size};
  Part part;
  for (const rocksdb::SstFileMetaData& file : deepest->files) {
    if (!begin.empty() && file.largestkey <= begin) continue;
    if (part.bytes >= kPieceBytes) {
      part.bytes_behind += file.size;
      continue;
    }
    part.bytes += file.size;
    part.end = file.largestkey;
  }
  if (part.bytes_behind == 0) part.end = std::nullopt;
  return part;
}

// A compaction that fills the disk would make the database refuse writes.
Status CheckRoomFor(const std::string& path) {
  constexpr uint64_t kLeastFree = 4 * kPieceBytes;
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0 || disk.f_bavail * disk.f_frsize >= kLeastFree) return {};
  return Status::Error("the disk of " + path + " has less than " + ReadableBytes(kLeastFree) +
                       " left, and a compaction needs as much; make room first");
}

bool Overlaps(const rocksdb::SstFileMetaData& file, const std::string& begin, const Part& part) {
  return (begin.empty() || file.largestkey >= begin) && (!part.end || file.smallestkey <= *part.end);
}

// Returns true if enough entries of the part are marks of removal to be worth rewriting it.
bool HasRemoved(const rocksdb::ColumnFamilyMetaData& family, const std::string& begin, const Part& part) {
  constexpr uint64_t kLeastPart = 20;
  uint64_t entries = 0;
  uint64_t removals = 0;
  for (const rocksdb::LevelMetaData& level : family.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      if (!Overlaps(file, begin, part)) continue;
      entries += file.num_entries;
      removals += file.num_deletions;
    }
  }
  return removals > 0 && removals * kLeastPart >= entries;
}

// The place at which a compaction goes on, as `*resume` has it: the number of the family, as a character, and a key.
struct Place {
  explicit Place(const std::string& resume)
      : family(resume.empty() ? 0 : static_cast<size_t>(resume.front())),
        begin(resume.empty() ? "" : resume.substr(1)) {}
  void MoveBehind(const Part& part) {
    if (!part.end) ++family;
    begin = part.end.value_or("");
  }
  std::string Resume() const { return static_cast<char>(family) + begin; }

  size_t family;
  std::string begin;
};

Status Compact(const RocksDbStore& store, const Place& place, const Part& part, std::atomic<bool>* cancelled) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  // Rewrites the deepest level, too, in which removed entries lie under their marks.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = cancelled;
  const rocksdb::Slice from(place.begin);
  const rocksdb::Slice to(part.end.value_or(""));
  const rocksdb::Status status = store.db()->CompactRange(
      options, store.families()[place.family], place.begin.empty() ? nullptr : &from, part.end ? &to : nullptr);
  return status.ok() ? Status() : DatabaseError("cannot compact the database", status);
}

}  // namespace

Result<CompactedPiece> CompactSome(const RocksDbStore& store, CompactWhat what, std::string* resume,
                                   std::atomic<bool>* cancelled) {
  rocksdb::DB* const db = store.db();
  const std::vector<rocksdb::ColumnFamilyHandle*>& families = store.families();
  Place place(*resume);
  if (place.family >= families.size()) return CompactedPiece();
  if (Status room = CheckRoomFor(db->GetName()); !room.ok()) return room;
  if (resume->empty() && what == CompactWhat::kRemoved) {
    // The marks of the last removals are in memory; tables tell how many marks they have.
    const rocksdb::Status flushed = db->Flush(rocksdb::FlushOptions(), families);
    if (!flushed.ok()) return DatabaseError("cannot write what is in memory", flushed);
  }
  CompactedPiece piece;
  rocksdb::ColumnFamilyMetaData family;
  while (place.family < families.size() && piece.bytes == 0) {
    if (family.name.empty() || place.begin.empty()) db->GetColumnFamilyMetaData(families[place.family], &family);
    const Part part = PartFrom(family, place.begin);
    if (what == CompactWhat::kAll || HasRemoved(family, place.begin, part)) {
      if (Status compacted = Compact(store, place, part, cancelled); !compacted.ok()) return compacted;
      piece.bytes = std::max<uint64_t>(part.bytes, 1);
    }
    piece.left_bytes = part.bytes_behind;
    place.MoveBehind(part);
  }
  for (size_t later = place.begin.empty() ? place.family : place.family + 1; later < families.size(); ++later) {
    rocksdb::ColumnFamilyMetaData other;
    db->GetColumnFamilyMetaData(families[later], &other);
    piece.left_bytes += other.size;
  }
  *resume = place.Resume();
  return piece;
}

}  // namespace weir
