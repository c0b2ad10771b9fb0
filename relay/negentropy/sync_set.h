// SyncSet: the ids and dates of many events, in the order in which two sides compare their sets (NIP-77): oldest first
// and, within a second, lowest id first. Finds the fingerprint of any range of the set in about two microseconds, and
// a place in the set by a binary search.
//
//   SyncSet set;
//   set.Add({event.created_at(), event.id()}); …     // in any order
//   while (!set.Seal(some_steps)) …                   // from now on the set does not change
//   set.FingerprintOf(0, set.size())
//
// The set has blocks of 256 items, and for each block the sum of the ids before it. So a fingerprint adds the ids of at
// most two blocks, and a growing set moves no item. An item takes 40 bytes, and its share of the sums and of the table
// of blocks is less than a byte.
//
// SyncPart: a range of a sealed set, such as the events of a span of time, as if it were a set of its own.
//
// Threads: only one thread at a time may use a set that is not sealed. A sealed set may be read by many threads.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
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

  // Adds an item. Throws std::logic_error if the set is sealed, or if the date is that of kInfinity.
  void Add(const SyncItem& item);
  // Sorts the items and adds up their ids, with about `steps` steps, or a few hundred if that is more. A step takes
  // five to ten nanoseconds; a set of a million items needs about 25 for each. Returns true once the set is sealed.
  // Throws std::logic_error if an item was added twice.
  bool Seal(size_t steps = SIZE_MAX);

  size_t size() const { return size_; }
  // Returns the bytes of memory that the set holds.
  uint64_t bytes() const;

  // The functions below need a sealed set.
  const SyncItem& operator[](size_t index) const { return blocks_[index / kBlockItems]->items[index % kBlockItems]; }
  // Returns the index of the first item at `end` or behind it, from `from` on. REQUIRES: items before `from` are before
  // `end`.
  size_t FirstAtOrBehind(const SyncItem& end, size_t from) const;
  Fingerprint FingerprintOf(size_t begin, size_t end) const;

 private:
  struct Block {
    std::array<SyncItem, kBlockItems> items;
    IdSum before;  // the sum of the ids of all blocks before this one
  };
  struct Range {
    size_t begin;
    size_t end;
    size_t size() const { return end - begin; }
  };
  SyncItem& At(size_t index) { return blocks_[index / kBlockItems]->items[index % kBlockItems]; }
  void BeginSorting();
  bool SortSome(size_t* steps);
  bool DivideSome(size_t* steps);
  void SortFew(const Range& range);
  SyncItem PivotOf(const Range& range);
  void AddUp(size_t block);
  IdSum SumBefore(size_t index) const;

  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
  bool sealed_ = false;
  // The progress of Seal, a quicksort. Its pivots are random, because strangers choose the order of the items.
  bool sorts_ = false;
  std::vector<Range> unsorted_;    // the one that is sorted next is the last
  std::optional<SyncItem> pivot_;  // set while that range is divided
  size_t low_ = 0;                 // the items before this place are before the pivot
  size_t high_ = 0;                // the items from this place on are not
  std::minstd_rand random_;
  size_t summed_ = 0;  // the number of blocks whose ids are in the next block's sum
};

class SyncPart {
 public:
  // The whole set, also what is added to it later.
  SyncPart(const SyncSet& set) : set_(&set) {}  // NOLINT(google-explicit-constructor): a set is a part of itself
  // The items of the seconds from `since` to `until`, inclusive. The set must be sealed.
  SyncPart(const SyncSet& set, uint64_t since, uint64_t until)
      : set_(&set),
        begin_(set.FirstAtOrBehind({.created_at = since}, 0)),
        end_(until == UINT64_MAX ? set.size() : set.FirstAtOrBehind({.created_at = until + 1}, begin_)) {}

  size_t size() const { return std::min(end_, set_->size()) - begin_; }
  const SyncItem& operator[](size_t index) const { return (*set_)[begin_ + index]; }
  size_t FirstAtOrBehind(const SyncItem& end, size_t from) const {
    return std::min(set_->FirstAtOrBehind(end, begin_ + from) - begin_, size());
  }
  Fingerprint FingerprintOf(size_t begin, size_t end) const {
    return set_->FingerprintOf(begin_ + begin, begin_ + end);
  }

 private:
  const SyncSet* set_;
  size_t begin_ = 0;
  size_t end_ = SIZE_MAX;
};

}  // namespace weir
