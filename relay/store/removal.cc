#include "relay/store/removal.h"

#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/nostr/gift_wrap.h"
#include "relay/store/index_walk.h"

namespace weir {
namespace {

// An index entry may lead to an event that must not be removed, so `wanted` decides.
template <typename Wanted>
Status RemoveIf(const Database& database, uint64_t serial, RemovalPiece* piece, Wanted wanted) {
  std::string record;
  piece->looked += kSeekWork + kRecordWork;
  const Result<bool> found = ReadRecord(database, serial, &record, ReadForRemoval());
  if (!found.ok()) return found.status();
  piece->looked += record.size() * kRecordByteWork;
  if (found.value() && wanted(EventView(record))) piece->removals.Add(database, EventView(record), serial);
  return {};
}

uint64_t SerialAtTheEnd(std::string_view key) {
  return ReadNumber(key.data() + key.size() - kSerialBytes, kSerialBytes);
}

}  // namespace

rocksdb::ReadOptions ReadForRemoval() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

Result<bool> ReadRecord(const Database& database, uint64_t serial, std::string* record,
                        const rocksdb::ReadOptions& options) {
  const rocksdb::Status status = database.db()->Get(options, database.events(), ToSlice(EventKey(serial)), record);
  const bool is_damaged = status.IsCorruption() || (status.ok() && !EventView::WellFormed(*record));
  if (is_damaged) database.NoteDamagedRecord(serial);
  if (!status.ok() && !status.IsNotFound() && !is_damaged) return DatabaseError("cannot read an event", status);
  return status.ok() && !is_damaged;
}

// The index of words does not have the oldest events yet while it is being built.
void Removals::Add(const Database& database, EventView event, uint64_t serial) {
  if (!serials_.insert(serial).second) return;
  ForEachEntry(event, serial, [this](std::string_view key, std::string_view) { entries_.Add(key, {}); });
  const SearchIndex* const search = database.search();
  if (search == nullptr || serial <= search->unbuilt()) return;
  splitting_ += search->SplittingWork(event);
  search->ForEachEntry(event, serial, [this](std::string_view key, std::string_view) { words_.Add(key, {}); });
}

void Removals::AppendTo(const Database& database, rocksdb::WriteBatch* batch) {
  for (const uint64_t serial : serials_) batch->Delete(database.events(), ToSlice(EventKey(serial)));
  entries_.ForEach([&](std::string_view key, std::string_view) { batch->Delete(database.index(), ToSlice(key)); });
  words_.ForEach(
      [&](std::string_view key, std::string_view) { batch->Delete(database.search_family(), ToSlice(key)); });
}

Result<RemovalPiece> Vanishing::Next(Work most) {
  RemovalPiece piece;
  do {
    const Result<std::optional<Request>> found = FindRequest(most, &piece);
    if (!found.ok()) return found.status();
    if (!found.value()) {
      if (piece.more) return piece;
      piece.more = std::exchange(again_, false);
      from_ = "w";
      return piece;
    }
    if (*found.value() != request_) {
      request_ = *found.value();
      hex_ = ToHex(request_.author);
      range_ = Range::kAuthor;
      resume_.clear();
    }
    Status walked;
    if (range_ == Range::kAuthor) {
      walked = Walk(AuthorRange(request_.author), 1 + 8 + 2, most, &piece);
    } else if (range_ == Range::kWraps) {
      walked = Walk(TagRange('p', hex_).Number(kGiftWrapKind, 2), 2 + 8 + 2, most, &piece);
    }
    if (!walked.ok()) return walked;
    if (range_ != Range::kDone) continue;
    piece.batch.Delete(database_.index(), ToSlice(from_));
    from_.push_back('\0');
    request_ = {};
  } while (piece.work() < most);
  piece.more = true;
  return piece;
}

// Finds the first request at or behind from_, and moves from_ there. Returns null if there are no more, or if `most`
// was reached first; then piece->more is set.
Result<std::optional<Vanishing::Request>> Vanishing::FindRequest(Work most, RemovalPiece* piece) {
  IndexWalk at(database_, &piece->looked);
  for (at.Seek(from_); at.Within("w"); at.Next()) {
    from_ = at.key();
    if (at.has_entry() && from_.size() == 1 + sizeof(PublicKey) && at.value().size() == 8 + kSerialBytes) {
      Request request;
      std::memcpy(request.author.data(), from_.data() + 1, request.author.size());
      request.until = ReadNumber(at.value().data(), 8);
      request.serial = SerialAtTheEnd(at.value());
      return std::optional(request);
    }
    if (at.has_entry()) from_.push_back('\0');  // skips a damaged one
    if (piece->work() < most) continue;
    piece->more = true;
    break;
  }
  if (Status read = at.status(); !read.ok()) return read;
  return std::optional<Request>();
}

// Goes through a range until its end or until `most` is reached. Its keys have the time at `time_at`; the kind, which
// stands before it, may differ from one key to the next.
Status Vanishing::Walk(const Key& range, size_t time_at, Work most, RemovalPiece* piece) {
  IndexWalk at(database_, &piece->looked);
  at.Seek(resume_.empty() ? range.view() : std::string_view(resume_));
  // Removes at least one event, because small pieces would get nowhere otherwise.
  for (bool first = true; at.Within(range.view()); first = false) {
    const std::string_view key = at.key();
    if (!first && piece->work() >= most) {
      resume_ = key;
      return {};
    }
    const bool readable = at.has_entry() && key.size() >= time_at + 8 + kSerialBytes;
    if (readable && ReadNumber(key.data() + time_at, 8) < ~request_.until) {
      Key old_enough = Key::Of(key.substr(0, time_at));
      at.Seek(old_enough.Time(request_.until).view());
      continue;
    }
    if (readable) {
      const uint64_t serial = SerialAtTheEnd(key);
      Status removed = RemoveIf(database_, serial, piece, [&](EventView e) { return IsMeant(e, serial); });
      if (!removed.ok()) return removed;
    }
    at.Next();
  }
  resume_.clear();
  range_ = range_ == Range::kAuthor ? Range::kWraps : Range::kDone;
  return at.status();
}

bool Vanishing::IsMeant(EventView event, uint64_t serial) const {
  if (event.created_at() > request_.until) return false;
  const bool of_author = event.pubkey() == request_.author;
  if (range_ == Range::kAuthor) return of_author && serial != request_.serial;
  return !of_author && IsWrappedFor(event, hex_);
}

Result<RemovalPiece> Expiry::Next(uint64_t now_seconds, Work most) {
  RemovalPiece piece;
  if (now_seconds == 0) return piece;
  if (now_seconds < swept_until_) resume_.clear();  // the clock was set back
  IndexWalk at(database_, &piece.looked);
  at.Seek(resume_.empty() ? "x" : resume_);
  for (bool first = true; at.Within("x"); at.Next(), first = false) {
    const std::string_view key = at.key();
    if (!first && piece.work() >= most) {
      piece.more = true;
      resume_ = key;
      break;
    }
    if (!at.has_entry() || key.size() != 1 + 8 + kSerialBytes) continue;
    if (ReadNumber(key.data() + 1, 8) > now_seconds) break;
    const Status removed = RemoveIf(database_, SerialAtTheEnd(key), &piece,
                                    [now_seconds](EventView event) { return IsExpired(event, now_seconds); });
    if (!removed.ok()) return removed;
  }
  if (Status read = at.status(); !read.ok()) return read;
  // The next sweep begins at this key, so it need not pass over entries that this sweep deleted.
  if (!piece.more) resume_ = ExpirationKey(now_seconds, 0).view();
  swept_until_ = now_seconds;
  return piece;
}

Result<RemovalPiece> PieceOfAuthor(const Database& database, const PublicKey& author, Work most, std::string* resume) {
  RemovalPiece piece;
  const Key range = AuthorRange(author);
  IndexWalk at(database, &piece.looked);
  at.Seek(resume->empty() ? range.view() : std::string_view(*resume));
  for (bool first = true; at.Within(range.view()); at.Next(), first = false) {
    if (!first && piece.work() >= most) {
      *resume = at.key();
      piece.more = true;
      break;
    }
    if (!at.has_entry() || at.key().size() < range.view().size() + kSerialBytes) continue;
    const Status removed = RemoveIf(database, SerialAtTheEnd(at.key()), &piece,
                                    [&author](EventView event) { return event.pubkey() == author; });
    if (!removed.ok()) return removed;
  }
  if (Status read = at.status(); !read.ok()) return read;
  return piece;
}

Result<RemovalPiece> PieceOfIds(const Database& database, Work most, std::span<const EventId>* ids) {
  RemovalPiece piece;
  std::string value;
  for (; !ids->empty() && piece.work() < most; *ids = ids->subspan(1)) {
    const EventId& id = ids->front();
    piece.looked += kSeekWork;
    const rocksdb::Status status = database.db()->Get({}, database.index(), ToSlice(IdKey(id)), &value);
    if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read the index", status);
    IndexEntry entry;
    if (!status.ok() || !ReadIdValue(value, &entry)) continue;
    const Status removed =
        RemoveIf(database, entry.serial, &piece, [&id](EventView event) { return event.id() == id; });
    if (!removed.ok()) return removed;
  }
  piece.more = !ids->empty();
  return piece;
}

}  // namespace weir
