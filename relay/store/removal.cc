#include "relay/store/removal.h"

#include <memory>
#include <set>
#include <vector>

#include "relay/nostr/expiration.h"

namespace weir {
namespace {

constexpr uint64_t kPieceEvents = 512;
constexpr size_t kPieceBytes = 2 << 20;

// Collects removals and writes them piece by piece.
class PieceWriter {
 public:
  PieceWriter(const Database& database, const WritePiece& write) : database_(database), write_(write) {}

  // `wanted` is asked about the record; entries of the index may point at events that they do not mean.
  template <typename Wanted>
  Status Remove(uint64_t serial, Wanted wanted) {
    const Result<bool> found = ReadRecord(database_, serial, &record_);
    if (!found.ok()) return found.status();
    if (!found.value() || !EventView::WellFormed(record_) || !wanted(EventView(record_))) return {};
    AppendRemoval(database_, EventView(record_), serial, &batch_);
    ++in_piece_;
    ++removed_;
    return in_piece_ >= kPieceEvents || batch_.GetDataSize() >= kPieceBytes ? Write() : Status();
  }

  Status Write() {
    if (batch_.Count() == 0) return {};
    Status written = write_(&batch_, in_piece_);
    batch_.Clear();
    in_piece_ = 0;
    return written;
  }

  rocksdb::WriteBatch* batch() { return &batch_; }
  uint64_t removed() const { return removed_; }

 private:
  const Database& database_;
  const WritePiece& write_;
  rocksdb::WriteBatch batch_;
  std::string record_;
  uint64_t in_piece_ = 0;
  uint64_t removed_ = 0;
};

struct Vanishing {
  PublicKey author;
  uint64_t until = 0;
  uint64_t request = 0;  // its serial
};

std::unique_ptr<rocksdb::Iterator> IndexIterator(const Database& database) {
  rocksdb::ReadOptions options;
  options.prefix_same_as_start = true;
  options.fill_cache = false;
  return std::unique_ptr<rocksdb::Iterator>(database.db()->NewIterator(options, database.index()));
}

// Calls visit(serial) for every entry that begins with `prefix`, until it fails.
template <typename Visit>
Status ForEachSerial(const Database& database, const Key& prefix, Visit visit) {
  const std::unique_ptr<rocksdb::Iterator> at = IndexIterator(database);
  for (at->Seek(ToSlice(prefix)); at->Valid() && at->key().starts_with(ToSlice(prefix)); at->Next()) {
    const rocksdb::Slice key = at->key();
    if (key.size() < prefix.view().size() + 6) continue;
    if (Status visited = visit(ReadNumber(key.data() + key.size() - 6, 6)); !visited.ok()) return visited;
  }
  return at->status().ok() ? Status() : DatabaseError("cannot read the index", at->status());
}

Result<std::vector<Vanishing>> BegunVanishings(const Database& database) {
  std::vector<Vanishing> begun;
  const std::unique_ptr<rocksdb::Iterator> at = IndexIterator(database);
  for (at->Seek("w"); at->Valid(); at->Next()) {
    if (at->key().size() != 33 || at->value().size() != 14) continue;
    Vanishing vanishing;
    std::memcpy(vanishing.author.data(), at->key().data() + 1, vanishing.author.size());
    vanishing.until = ReadNumber(at->value().data(), 8);
    vanishing.request = ReadNumber(at->value().data() + 8, 6);
    begun.push_back(vanishing);
  }
  if (!at->status().ok()) return DatabaseError("cannot read the index", at->status());
  return begun;
}

Status Finish(const Database& database, const Vanishing& vanishing, const WritePiece& write) {
  PieceWriter pieces(database, write);
  const std::string hex = ToHex(vanishing.author);
  Status done = ForEachSerial(database, AuthorRange(vanishing.author), [&](uint64_t serial) {
    return pieces.Remove(serial, [&](EventView event) {
      return serial != vanishing.request && event.pubkey() == vanishing.author && event.created_at() <= vanishing.until;
    });
  });
  if (!done.ok()) return done;
  done = ForEachSerial(database, TagRange('p', hex).Number(kGiftWrapKind, 2), [&](uint64_t serial) {
    return pieces.Remove(serial, [&](EventView event) {
      return event.pubkey() != vanishing.author && event.created_at() <= vanishing.until && IsWrappedFor(event, hex);
    });
  });
  if (!done.ok()) return done;
  pieces.batch()->Delete(database.index(), ToSlice(VanishWorkKey(vanishing.author)));
  return pieces.Write();
}

}  // namespace

Result<bool> ReadRecord(const Database& database, uint64_t serial, std::string* record) {
  const rocksdb::Status status = database.db()->Get({}, database.events(), ToSlice(EventKey(serial)), record);
  if (status.IsNotFound()) return false;
  if (!status.ok()) return DatabaseError("cannot read an event", status);
  return true;
}

void AppendRemoval(const Database& database, EventView event, uint64_t serial, rocksdb::WriteBatch* batch) {
  batch->Delete(database.events(), ToSlice(EventKey(serial)));
  ForEachEntry(event, serial,
               [&](std::string_view key, std::string_view) { batch->Delete(database.index(), ToSlice(key)); });
}

Result<uint64_t> RemoveByIds(const Database& database, std::span<const EventId> ids, const WritePiece& write) {
  PieceWriter pieces(database, write);
  std::string value;
  const std::set<EventId> once(ids.begin(), ids.end());
  for (const EventId& id : once) {
    const rocksdb::Status status = database.db()->Get({}, database.index(), ToSlice(IdKey(id)), &value);
    if (status.IsNotFound()) continue;
    if (!status.ok()) return DatabaseError("cannot read the index", status);
    IndexEntry entry;
    if (!ReadIdValue(value, &entry)) continue;
    const Status removed = pieces.Remove(entry.serial, [&id](EventView event) { return event.id() == id; });
    if (!removed.ok()) return removed;
  }
  if (Status written = pieces.Write(); !written.ok()) return written;
  return pieces.removed();
}

Result<uint64_t> RemoveExpired(const Database& database, uint64_t now_seconds, uint32_t max, uint64_t from_seconds,
                               const WritePiece& write) {
  PieceWriter pieces(database, write);
  const std::unique_ptr<rocksdb::Iterator> at = IndexIterator(database);
  for (at->Seek(ToSlice(ExpirationKey(from_seconds, 0))); at->Valid() && pieces.removed() < max; at->Next()) {
    if (at->key().size() != 15) continue;
    if (ReadNumber(at->key().data() + 1, 8) > now_seconds) break;
    const Status removed = pieces.Remove(ReadNumber(at->key().data() + 9, 6),
                                         [now_seconds](EventView event) { return IsExpired(event, now_seconds); });
    if (!removed.ok()) return removed;
  }
  if (!at->status().ok()) return DatabaseError("cannot read the index", at->status());
  if (Status written = pieces.Write(); !written.ok()) return written;
  return pieces.removed();
}

Status FinishVanishing(const Database& database, const WritePiece& write) {
  const Result<std::vector<Vanishing>> begun = BegunVanishings(database);
  if (!begun.ok()) return begun.status();
  for (const Vanishing& vanishing : begun.value())
    if (Status done = Finish(database, vanishing, write); !done.ok()) return done;
  return {};
}

bool IsWrappedFor(EventView event, std::string_view pubkey_hex) {
  if (event.kind() != kGiftWrapKind) return false;
  for (const TagView tag : event.tags())
    if (tag.letter == 'p' && tag.value == pubkey_hex) return true;
  return false;
}

}  // namespace weir
