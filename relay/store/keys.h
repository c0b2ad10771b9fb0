// The layout of the RocksDB database: the keys and values of its column families. This is format 1.
// A database whose events can be searched also has the family `search` (search/search_index.h).
//
// Column family `events`: the key is an event's serial (8 bytes), the value its record (relay/nostr/event.h). Serials
// are assigned in the order in which events are saved. Column family `default`: the key "format" has the version of
// this layout, as text; the key "memo/" with a name behind it has the text of a memo (event_store.h). A program that
// knows no memos ignores them. Column family `index`: see the table below. The numbers in the table are sizes in bytes.
// Numbers in keys and values are big-endian, so that keys sort like their numbers.
//
//   | first| key                                                  | value                 | bloom | for            |
//   |------|------------------------------------------------------|-----------------------|-------|----------------|
//   | i    | id 32                                                | time 8, serial 6      | all   | ids            |
//   | a    | author 8, kind 2, time 8, id 4, serial 6             |                       | author| authors, kinds |
//   | t    | letter, value 8, kind 2, time 8, id 4, by 4, serial 6|                       | value | tags, kinds    |
//   | k    | kind 2, time 8, id 4, by 4, serial 6                 |                       | kind  | kinds          |
//   | c    | time 8, id 4, kind 2, by 4, serial 6                 |                       | -     | all else       |
//   | d    | address 16                                           | time 8, id 4, serial 6| all   | newest version |
//   | x    | expiration 8, serial 6                               |                       | -     | expired events |
//   | e    | id 32, author 16                                     |                       | all   | deletion mark  |
//   | r    | address 16                                           | until 8               | all   | deletion mark  |
//   | v    | author 32                                            | until 8               | all   | vanish mark    |
//   | w    | author 32                                            | until 8, serial 6     | -     | vanishing begun|
//   | m    |                                                      | events 8, serial 8    | all   | counters       |
//
// `time` is created_at with all bits inverted, so that the newest entries come first. `id` is the event's id or its
// first bytes. `author` and `by` are the author's public key or its first bytes. The id comes after the time, so that
// events of equal age are sorted by id, lowest first, as NIP-01 demands. By `kind` and `by` a scan can skip, without
// reading their events, entries that cannot match.
//
// The field `value` in the keys of t is the beginning of the SHA-256 of the tag's value. With a weaker hash, an
// attacker could publish events whose tag values have the same hash as a victim's public key, and every query for that
// key would have to read through these events.
//
// `address` is a hash of the kind, the author and the value of the "d" tag. Because some parts of keys are truncated or
// hashed, an entry may lead to an event that does not match, but no matching event is missed. A query therefore matches
// its filters with the record of every event that it finds. The store trusts addresses and marks without reading a
// record, so they have at least 16 bytes of a cryptographic hash or of a public key. The marks r, v and w cover events
// with a created_at of at most `until`; a mark e covers the event with its id, if `author` is an owner of that event
// (gift_wrap.h).
//
// `bloom` is the part of the key that is in the bloom filters: all of it, its beginning up to and including the named
// field, or (-) only its first byte, a letter that says which kind of entry it is. In the entries a and t the kind
// stands between the author (or the tag's value) and the time, so that these entries serve queries with and without
// kinds. A query without kinds seeks from one kind to the next; an author or a tag value has few kinds. An additional
// entry for each event would cost writers more than these seeks cost readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/nostr/event.h"
#include "rocksdb/slice_transform.h"

namespace weir {

inline constexpr size_t kSerialBytes = 6;

inline constexpr int kStoreFormat = 1;
inline constexpr std::string_view kFormatKey = "format";
inline constexpr std::string_view kMemoPrefix = "memo/";
inline constexpr std::string_view kEventsFamily = "events";
inline constexpr std::string_view kIndexFamily = "index";
inline constexpr std::string_view kSearchFamily = "search";

inline constexpr uint16_t kDeletionKind = 5;

// Builds a key of this layout in a buffer of its own, without allocation. The longest key has 49 bytes. The functions
// do not check for overflow.
class Key {
 public:
  static constexpr size_t kMostBytes = 56;

  explicit Key(char first) { bytes_[size_++] = first; }
  // Copies a key that was read from the database. A key that is longer than kMostBytes is damaged and is cut short;
  // seeking to the copy still finds every key after the damaged one.
  static Key Of(std::string_view key) {
    Key copy;
    return copy.Bytes(key.data(), key.size() < kMostBytes ? key.size() : kMostBytes);
  }

  Key& Byte(uint8_t byte) {
    bytes_[size_++] = static_cast<char>(byte);
    return *this;
  }
  Key& Bytes(const void* bytes, size_t count) {
    std::memcpy(bytes_ + size_, bytes, count);
    size_ += count;
    return *this;
  }
  // Appends the lowest `count` bytes of a number, big-endian.
  Key& Number(uint64_t number, size_t count) {
    for (size_t i = count; i-- > 0;) bytes_[size_++] = static_cast<char>(number >> (8 * i));
    return *this;
  }
  // Appends a time with all bits inverted.
  Key& Time(uint64_t created_at) { return Number(~created_at, 8); }
  Key& Serial(uint64_t serial) { return Number(serial, 6); }

  std::string_view view() const { return {bytes_, size_}; }

 private:
  Key() = default;

  size_t size_ = 0;
  char bytes_[kMostBytes];
};

// Returns the big-endian number in the first `count` bytes; `count` is at most 8.
inline uint64_t ReadNumber(const char* bytes, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

// A hash of the kind, the author and the value of the "d" tag. All versions of a replaceable or addressable event have
// the same address, and only the newest of them is stored.
using Address = std::array<uint8_t, 16>;
Address AddressOf(uint16_t kind, const PublicKey& author, std::string_view d);
// Returns the address of a replaceable or addressable event. The "d" value of a replaceable event counts as empty.
Address AddressOf(EventView event);
// The parts of the value of an "a" tag, `kind:pubkey:d`, which names an address. `d` points into that value.
struct NamedAddress {
  uint16_t kind;
  PublicKey author;
  std::string_view d;
};
// Returns nullopt if `text` is not the address of a replaceable or addressable kind.
std::optional<NamedAddress> ParseAddress(std::string_view text);

// Returns the hash of a tag's value: the field `value` of the entries t.
uint64_t TagHash(std::string_view value);

// The largest serial: keys of the index have 6 bytes for it.
inline constexpr uint64_t kLastSerial = (uint64_t{1} << 48) - 1;

inline Key EventKey(uint64_t serial) {
  Key key(static_cast<char>(serial >> 56));
  return key.Number(serial, 7);
}
inline Key IdKey(const EventId& id) { return Key('i').Bytes(id.data(), id.size()); }
inline Key AddressKey(const Address& address) { return Key('d').Bytes(address.data(), address.size()); }
inline Key DeletionMarkKey(const EventId& id, const PublicKey& author) {
  return Key('e').Bytes(id.data(), id.size()).Bytes(author.data(), 16);
}
inline Key AddressMarkKey(const Address& address) { return Key('r').Bytes(address.data(), address.size()); }
inline Key VanishMarkKey(const PublicKey& author) { return Key('v').Bytes(author.data(), author.size()); }
inline Key VanishWorkKey(const PublicKey& author) { return Key('w').Bytes(author.data(), author.size()); }
inline Key ExpirationKey(uint64_t expiration, uint64_t serial) { return Key('x').Number(expiration, 8).Serial(serial); }
inline Key CountersKey() { return Key('m'); }

// These return the part that all keys of a range of entries begin with: the fields before `kind` (entries a and t) or
// before `time` (entries k and c). In the entries a and t a caller may append a kind with Key::Number(kind, 2).
inline Key AuthorRange(const PublicKey& author) { return Key('a').Bytes(author.data(), 8); }
inline Key TagRange(char letter, std::string_view value) {
  return Key('t').Byte(static_cast<uint8_t>(letter)).Number(TagHash(value), 8);
}
inline Key KindRange(uint16_t kind) { return Key('k').Number(kind, 2); }
inline Key TimeRange() { return Key('c'); }

// The fields of an event that the key of an entry a, t, k or c has.
struct IndexEntry {
  uint64_t inverted_time = 0;
  uint64_t serial = 0;
  uint32_t id = 0;  // the first four bytes, as a big-endian number
  uint32_t by = 0;  // the first four bytes of the author, as a big-endian number
  uint16_t kind = 0;
};
// Reads the key of an entry a, t, k or c. `range_size` is the length of the part before `time`, including the kind if
// it comes before `time`. Returns false if the key has another first byte or the wrong length.
bool ReadEntry(std::string_view key, size_t range_size, IndexEntry* entry);
// These read the value of an entry i or d, and set those fields of `entry` that the value has. They return false if the
// value has the wrong length.
bool ReadIdValue(std::string_view value, IndexEntry* entry);
bool ReadAddressValue(std::string_view value, IndexEntry* entry);

// The counters of the database, which every write updates.
struct Counters {
  uint64_t events = 0;       // number of stored events
  uint64_t last_serial = 0;  // the last serial that was assigned
};
// Returns the counters in the form of the value of the entry m.
std::string WriteCounters(const Counters& counters);
// Returns false if the value has the wrong length, or if the counters cannot be right: more events than serials, or a
// serial beyond kLastSerial. With wrong counters a store would assign serials twice.
bool ReadCounters(std::string_view value, Counters* counters);

// Calls add(key, value) for every index entry of the event; the same key may come more than once. Marks are not
// included, because they stay when the event is removed. The views are valid during the call.
template <typename Add>
void ForEachEntry(EventView event, uint64_t serial, Add&& add);

// Returns RocksDB's prefix extractor for the index, which selects the part of each key for the bloom filters.
std::shared_ptr<const rocksdb::SliceTransform> NewIndexPrefix();

// ---- Implementation ----

template <typename Add>
void ForEachEntry(EventView event, uint64_t serial, Add&& add) {
  const uint64_t at = event.created_at();
  const uint16_t kind = event.kind();
  const uint8_t* id = event.id().data();
  const uint8_t* author = event.pubkey().data();
  const auto add_key = [&add](const Key& key) { add(key.view(), std::string_view()); };

  Key id_value('\0');
  id_value.Time(at).Serial(serial);
  add(IdKey(event.id()).view(), id_value.view().substr(1));
  add_key(AuthorRange(event.pubkey()).Number(kind, 2).Time(at).Bytes(id, 4).Serial(serial));
  add_key(KindRange(kind).Time(at).Bytes(id, 4).Bytes(author, 4).Serial(serial));
  add_key(TimeRange().Time(at).Bytes(id, 4).Number(kind, 2).Bytes(author, 4).Serial(serial));
  for (const TagView tag : event.tags())
    add_key(TagRange(tag.letter, tag.value).Number(kind, 2).Time(at).Bytes(id, 4).Bytes(author, 4).Serial(serial));
  if (HasAddress(kind)) {
    Key value('\0');
    value.Time(at).Bytes(id, 4).Serial(serial);
    add(AddressKey(AddressOf(event)).view(), value.view().substr(1));
  }
  if (event.expiration() != 0) add_key(ExpirationKey(event.expiration(), serial));
}

}  // namespace weir
