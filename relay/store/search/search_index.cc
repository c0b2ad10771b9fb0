#include "relay/store/search/search_index.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "relay/store/database.h"
#include "relay/store/sorted_entries.h"

namespace weir {
namespace {

constexpr size_t kStateHead = 1 + 8;
constexpr size_t kKeyBytes = 8 + 8 + kSerialBytes;
constexpr size_t kValueBytes = 1 + 2 + 4;

}  // namespace

std::string WriteSearchState(const SearchState& state) {
  std::string value(1, static_cast<char>(state.version));
  value += Key::Of("").Number(state.unbuilt, 8).view();
  for (const uint16_t kind : state.kinds) value += Key::Of("").Number(kind, 2).view();
  return value;
}

std::optional<SearchState> ReadSearchState(std::string_view value) {
  if (value.size() < kStateHead || (value.size() - kStateHead) % 2 != 0) return std::nullopt;
  if (static_cast<uint8_t>(value[0]) != kWordsVersion) return std::nullopt;
  SearchState state{.unbuilt = ReadNumber(value.data() + 1, 8), .kinds = {}};
  for (size_t at = kStateHead; at < value.size(); at += 2)
    state.kinds.push_back(static_cast<uint16_t>(ReadNumber(value.data() + at, 2)));
  return std::is_sorted(state.kinds.begin(), state.kinds.end()) ? std::optional(state) : std::nullopt;
}

bool ReadSearchEntry(std::string_view key, std::string_view value, SearchEntry* entry) {
  if (key.size() != kKeyBytes || value.size() != kValueBytes) return false;
  entry->inverted_time = ReadNumber(key.data() + 8, 8);
  entry->serial = ReadNumber(key.data() + 16, kSerialBytes);
  entry->density = static_cast<uint8_t>(value[0]);
  entry->kind = static_cast<uint16_t>(ReadNumber(value.data() + 1, 2));
  entry->by = static_cast<uint32_t>(ReadNumber(value.data() + 3, 4));
  return true;
}

Result<SearchPiece> NextPiece(const Database& database, const SearchIndex& index, Work most,
                              rocksdb::WriteBatch* batch) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(database.db()->NewIterator(options, database.events()));
  SearchPiece piece;
  SortedEntries entries;
  Work work = kSeekWork;
  // Passes at least one event, because small pieces would get nowhere otherwise.
  bool first = true;
  for (at->SeekForPrev(ToSlice(EventKey(index.unbuilt()))); at->Valid(); at->Prev()) {
    if (!std::exchange(first, false) && work >= most) break;
    const std::string_view record = ToView(at->value());
    work += kRecordWork + record.size() * kRecordByteWork;
    if (at->key().size() != sizeof(uint64_t)) continue;
    const uint64_t serial = ReadNumber(at->key().data(), sizeof(uint64_t));
    if (EventView::WellFormed(record)) {
      const EventView event(record);
      const size_t before = entries.size();
      index.ForEachEntry(event, serial,
                         [&entries](std::string_view key, std::string_view value) { entries.Add(key, value); });
      if (entries.size() > before) ++piece.events;
      work += (entries.size() - before) * kEntryWork + index.SplittingWork(event);
    }
    piece.unbuilt = serial - 1;
  }
  if (!at->status().ok()) return DatabaseError("cannot read the events", at->status());
  if (!at->Valid()) piece.unbuilt = 0;
  entries.ForEach([&](std::string_view key, std::string_view value) {
    batch->Put(database.search_family(), ToSlice(key), ToSlice(value));
  });
  batch->Put(database.search_family(), ToSlice(kSearchStateKey),
             WriteSearchState({.unbuilt = piece.unbuilt, .kinds = index.kinds()}));
  return piece;
}

}  // namespace weir
