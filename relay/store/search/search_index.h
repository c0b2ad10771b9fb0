// SearchIndex: by which words the stored events are found (NIP-50). It is in the column family `search`, which a
// database has only while search is on.
//
//   key                                    value
//   word 8, inverted time 8, serial 6      density 1, kind 2, author's first 4     a word of an event's content
//   "s"                                    version 1, unbuilt 8, kinds 2 each      the state
//
// relay/search has the words and their density. The numbers are big-endian, as in keys.h. So the entries of a word come
// newest first.
//
// The index has the events of the searched kinds whose serial is above `unbuilt`. Saves write the entries of new
// events, and removals remove them, in the same atomic write as the event. The events that are older than the index are
// added in pieces, from the newest to the oldest (NextPiece); each piece lowers `unbuilt` in the same write as its
// entries, so a process that is killed loses no more than it has written. All of this happens on the thread that saves,
// so an event cannot be removed while it is added.
//
// An index of other words (kWordsVersion) or other kinds is of no use; the database then begins a new one (Database).
// A weir that knows no search cannot open a database with this family; WEIR_SEARCH_KINDS= removes it.
//
// Threads: the thread that saves calls SetUnbuilt and NextPiece; any thread calls the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/search/search_words.h"
#include "relay/store/keys.h"
#include "relay/store/search/searched_events.h"
#include "rocksdb/write_batch.h"

namespace weir {

class Database;

inline constexpr std::string_view kSearchStateKey = "s";

struct SearchState {
  uint8_t version = kWordsVersion;
  uint64_t unbuilt = 0;         // events with this serial or a lower one are not in the index
  std::vector<uint16_t> kinds;  // sorted
};
std::string WriteSearchState(const SearchState& state);
// Returns nullopt if the state is damaged, or was written by another version of the words.
std::optional<SearchState> ReadSearchState(std::string_view value);

// An entry of the index.
struct SearchEntry {
  uint64_t inverted_time = 0;
  uint64_t serial = 0;
  uint32_t by = 0;  // the first four bytes of the author, as a big-endian number
  uint16_t kind = 0;
  uint8_t density = 0;
};
inline Key SearchRange(uint64_t word) { return Key::Of("").Number(word, 8); }
// Returns false if the key or the value has the wrong length.
bool ReadSearchEntry(std::string_view key, std::string_view value, SearchEntry* entry);

class SearchIndex : public SearchedEvents {
 public:
  explicit SearchIndex(const SearchState& state) : SearchedEvents(state.kinds), unbuilt_(state.unbuilt) {}

  uint64_t unbuilt() const { return unbuilt_; }
  void SetUnbuilt(uint64_t unbuilt) { unbuilt_ = unbuilt; }

  // Calls add(key, value) for each entry that the index has, or would have, for the event. Calls it for none if the
  // kind is not searched.
  template <typename Add>
  void ForEachEntry(EventView event, uint64_t serial, Add&& add) const;

 private:
  std::atomic<uint64_t> unbuilt_;
};

// A piece of the events that are older than the index.
struct SearchPiece {
  uint64_t events = 0;   // number of events that the piece adds
  uint64_t unbuilt = 0;  // SearchState::unbuilt after the piece; 0: there are no more events
};
// Puts the next piece, of about `most` work, into the batch, together with the new state. The caller must write the
// batch and then call SetUnbuilt. Passes over damaged records.
Result<SearchPiece> NextPiece(const Database& database, const SearchIndex& index, Work most,
                              rocksdb::WriteBatch* batch);

// ---- Implementation ----

template <typename Add>
void SearchIndex::ForEachEntry(EventView event, uint64_t serial, Add&& add) const {
  ForEachWord(event, [&](uint64_t word, uint8_t density) {
    const Key key = SearchRange(word).Time(event.created_at()).Serial(serial);
    const Key value = Key::Of("").Byte(density).Number(event.kind(), 2).Bytes(event.pubkey().data(), 4);
    add(key.view(), value.view());
  });
}

}  // namespace weir
