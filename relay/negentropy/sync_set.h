// SyncSet: the ids and dates of many events, in the order in which two sides compare their sets (NIP-77): oldest first
// and, within a second, lowest id first. Finds the fingerprint of any range of the set in about two microseconds, and
// a place in the set by a binary search.
//
//   SyncSet set;
//   set.Add({event.created_at(), event.id()}); …     // in the order of a query: newest first
//   while (!set.Seal(some_items)) …                   // from now on the set does not change
//   set.FingerprintOf(0, set.size())
//
// The set has blocks of 256 items, and for each block the sum of the ids before it. So a fingerprint adds the ids of at
// most two blocks, and a growing set moves no item. An item takes 40 bytes, and its share of the sums and of the table
// of blocks is less than a byte.
//
// Threads: only one thread at a time may use a set that is not sealed. A sealed set may be read by many threads.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "relay/negentropy/id_sum.h"
#include "relay/nostr/event.h"

namespace weir {

// An event in a set, or the end of a range of events (relay/negentropy/range_wire.h), which no event need have.
struct SyncItem {
  uint64_t created_at = 0;
  EventId id{};

  auto operator<=>(const SyncItem&) const = default;
};

// The end of the last range, behind all events. So an event of this date cannot be in a set.
inline constexpr SyncItem kInfinity{.created_at = UINT64_MAX};

class SyncSet {
 public:
  static constexpr size_t kBlockItems = 256;
  // The bytes that each item takes, at most, in a set of at least one block.
  static constexpr uint64_t kItemBytes = 41;

  // Adds an item. Throws std::logic_error if the set is sealed, if the item is not behind the last one in the order of
  // a query, or if its date is that of kInfinity.
  void Add(const SyncItem& item);
  // Brings the items into their order, and adds up their ids, with about `steps` steps, of which a set needs at most
  // three for each item. A step takes a few nanoseconds. Returns true once the set is sealed.
  bool Seal(size_t steps = SIZE_MAX);

  size_t size() const { return size_; }
  // Returns the bytes of memory that the set holds.
  uint64_t bytes() const;

  // The functions below need a sealed set.
  const SyncItem& operator[](size_t index) const { return Stored(size_ - 1 - index); }
  // Returns the index of the first item at `end` or behind it, from `from` on. REQUIRES: items before `from` are before
  // `end`.
  size_t FirstAtOrBehind(const SyncItem& end, size_t from) const;
  Fingerprint FingerprintOf(size_t begin, size_t end) const;

 private:
  struct Block {
    std::array<SyncItem, kBlockItems> items;
    IdSum before;  // the sum of the ids of all blocks before this one
  };
  // Returns the items in the order in which they were added.
  SyncItem& Stored(size_t i) { return blocks_[i / kBlockItems]->items[i % kBlockItems]; }
  const SyncItem& Stored(size_t i) const { return blocks_[i / kBlockItems]->items[i % kBlockItems]; }
  bool ReverseSeconds(size_t* steps);
  IdSum SumBefore(size_t i) const;

  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
  bool sealed_ = false;
  // The progress of Seal. In the items of one second it swaps the first with the last, and so on.
  size_t second_begin_ = 0;
  size_t second_end_ = 0;
  size_t swapped_ = 0;
  size_t summed_ = 0;  // the number of blocks whose ids are in the next block's sum
};

}  // namespace weir
