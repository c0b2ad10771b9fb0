// KeyTable: a table of 32-byte keys in one piece of memory, 40 bytes a place, of which at most 7/8 are taken. KeySet
// and SharedKeySet look keys up in it. A key that is not there is usually found missing after one read of memory, and a
// key that is there after two, because the hashes of the keys stand together.
//
// Threads: any thread may call Has, also while another one changes the table. The answer is then right only if no
// change was made between the beginning and the end of the call; SharedKeySet finds out. Changes come one after the
// other. A change stores with release and Has loads with acquire, so a caller that has seen a part of a change also
// sees what its thread stored before it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "config/text/name_hash.h"
#include "relay/nostr/event.h"

namespace weir {

class KeyTable {
 public:
  // Makes a table that has room for at least `keys` keys.
  explicit KeyTable(size_t keys)
      : places_(PlacesFor(keys)), hashes_(std::make_unique<Word[]>(places_)), keys_(std::make_unique<Key[]>(places_)) {}

  bool Has(const Bytes32& key) const { return hashes_[Find(key)].load(std::memory_order_acquire) != 0; }
  size_t size() const { return size_; }
  bool full() const { return size_ == MostIn(places_); }

  // Returns false if the key is there already. The table must not be full.
  bool Add(const Bytes32& key) {
    const size_t place = Find(key);
    if (Load(hashes_[place]) != 0) return false;
    Put(place, WordsOf(key), HashOf(key));
    ++size_;
    return true;
  }
  // Returns false if the key is not there.
  bool Remove(const Bytes32& key) {
    size_t hole = Find(key);
    if (Load(hashes_[hole]) == 0) return false;
    // Moves keys that a look-up would no longer find behind the hole into it.
    for (size_t next = Next(hole); Load(hashes_[next]) != 0; next = Next(next)) {
      const uint64_t hash = Load(hashes_[next]);
      if (Distance(PlaceOf(hash), next) < Distance(hole, next)) continue;
      Put(hole, WordsAt(next), hash);
      hole = next;
    }
    hashes_[hole].store(0, std::memory_order_release);
    --size_;
    return true;
  }
  // Adds the keys of `other`, for which there must be room.
  void AddAll(const KeyTable& other) {
    other.ForEach([this](const Bytes32& key) { Add(key); });
  }
  // Calls visit(key) for each key, in no order. No other thread may change the table meanwhile.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t place = 0; place < places_; ++place)
      if (Load(hashes_[place]) != 0) visit(std::bit_cast<Bytes32>(WordsAt(place)));
  }

 private:
  using Word = std::atomic<uint64_t>;
  using Key = std::array<Word, 4>;
  using Words = std::array<uint64_t, 4>;

  static size_t MostIn(size_t places) { return places - places / 8; }
  static size_t PlacesFor(size_t keys) {
    size_t places = 16;
    while (MostIn(places) < keys) places *= 2;
    return places;
  }
  // The seed of the hash keeps strangers from choosing keys that share a place. A free place has the hash 0.
  static uint64_t HashOf(const Bytes32& key) {
    return HashOfName({reinterpret_cast<const char*>(key.data()), key.size()}) | 1;
  }
  static uint64_t Load(const Word& word) { return word.load(std::memory_order_acquire); }
  static Words WordsOf(const Bytes32& key) { return std::bit_cast<Words>(key); }
  Words WordsAt(size_t place) const {
    const Key& key = keys_[place];
    return {Load(key[0]), Load(key[1]), Load(key[2]), Load(key[3])};
  }

  size_t PlaceOf(uint64_t hash) const { return hash >> 32 & (places_ - 1); }
  size_t Next(size_t place) const { return (place + 1) & (places_ - 1); }
  size_t Distance(size_t from, size_t to) const { return (to - from) & (places_ - 1); }

  // Returns the place of the key, or the free place where it would be put.
  size_t Find(const Bytes32& key) const {
    const uint64_t hash = HashOf(key);
    size_t place = PlaceOf(hash);
    for (uint64_t found; (found = Load(hashes_[place])) != 0; place = Next(place))
      if (found == hash && WordsAt(place) == WordsOf(key)) break;
    return place;
  }
  void Put(size_t place, const Words& words, uint64_t hash) {
    for (size_t n = 0; n < words.size(); ++n) keys_[place][n].store(words[n], std::memory_order_release);
    hashes_[place].store(hash, std::memory_order_release);
  }

  size_t places_;  // a power of two
  std::unique_ptr<Word[]> hashes_;
  std::unique_ptr<Key[]> keys_;
  size_t size_ = 0;
};

}  // namespace weir
