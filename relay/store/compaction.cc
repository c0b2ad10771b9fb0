#include "relay/store/compaction.h"

#include <sys/statvfs.h>

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

}  // namespace

// `*resume` is the number of the family, as a character, and the key at which to go on.
Result<CompactedPiece> CompactSome(const RocksDbStore& store, std::string* resume, std::atomic<bool>* cancelled) {
  rocksdb::DB* const db = store.db();
  const std::vector<rocksdb::ColumnFamilyHandle*>& families = store.families();
  const size_t at = resume->empty() ? 0 : static_cast<size_t>(resume->front());
  const std::string begin = resume->empty() ? "" : resume->substr(1);
  if (at >= families.size()) return CompactedPiece();
  if (Status room = CheckRoomFor(db->GetName()); !room.ok()) return room;

  rocksdb::ColumnFamilyMetaData family;
  db->GetColumnFamilyMetaData(families[at], &family);
  const Part part = PartFrom(family, begin);
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  // Rewrites the deepest level, too, in which removed entries lie under their marks.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = cancelled;
  const rocksdb::Slice from(begin);
  const rocksdb::Slice to(part.end.value_or(""));
  const rocksdb::Status status =
      db->CompactRange(options, families[at], begin.empty() ? nullptr : &from, part.end ? &to : nullptr);
  if (!status.ok()) return DatabaseError("cannot compact the database", status);

  CompactedPiece piece{.bytes = part.bytes, .left_bytes = part.bytes_behind};
  for (size_t later = at + 1; later < families.size(); ++later) {
    rocksdb::ColumnFamilyMetaData other;
    db->GetColumnFamilyMetaData(families[later], &other);
    piece.left_bytes += other.size;
  }
  *resume = part.end ? static_cast<char>(at) + *part.end : std::string(1, static_cast<char>(at + 1));
  return piece;
}

}  // namespace weir
