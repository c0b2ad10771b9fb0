#include "relay/negentropy/sync_set.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir {

void SyncSet::Add(const SyncItem& item) {
  if (sealed_) throw std::logic_error("an item was added to a set that is sealed");
  if (item.created_at == kInfinity.created_at) throw std::logic_error("an item has the date of the end of all ranges");
  if (size_ > 0) {
    const SyncItem& last = Stored(size_ - 1);
    if (item.created_at == last.created_at ? item.id <= last.id : item.created_at > last.created_at)
      throw std::logic_error("an item was added that is not behind the last one");
  }
  if (size_ % kBlockItems == 0) blocks_.push_back(std::make_unique<Block>());
  Stored(size_) = item;
  ++size_;
}

bool SyncSet::Seal(size_t steps) {
  if (sealed_) return true;
  if (!ReverseSeconds(&steps)) return false;
  for (; summed_ + 1 < blocks_.size(); ++summed_) {
    if (steps < kBlockItems) return false;
    steps -= kBlockItems;
    IdSum sum = blocks_[summed_]->before;
    for (const SyncItem& item : blocks_[summed_]->items) sum.Add(item.id);
    blocks_[summed_ + 1]->before = sum;
  }
  sealed_ = true;
  return true;
}

// Brings the items of each second from the order of a query, lowest id first, into the reverse order, because
// operator[] reads all items from the last to the first. Returns false if `*steps` are used up first.
bool SyncSet::ReverseSeconds(size_t* steps) {
  for (; second_begin_ < size_; --*steps) {
    if (*steps <= kBlockItems) return false;
    if (second_end_ < size_ && Stored(second_end_).created_at == Stored(second_begin_).created_at) {
      ++second_end_;
    } else if (second_begin_ + swapped_ + 1 < second_end_ - swapped_) {
      std::swap(Stored(second_begin_ + swapped_), Stored(second_end_ - 1 - swapped_));
      ++swapped_;
    } else {
      second_begin_ = second_end_;
      swapped_ = 0;
    }
  }
  return true;
}

uint64_t SyncSet::bytes() const {
  return blocks_.size() * (sizeof(Block) + 16) + blocks_.capacity() * sizeof(blocks_[0]);  // 16: of malloc
}

size_t SyncSet::FirstAtOrBehind(const SyncItem& end, size_t from) const {
  size_t count = size_ - from;
  while (count > 0) {
    const size_t half = count / 2;
    if ((*this)[from + half] < end) {
      from += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return from;
}

// Returns the sum of the ids of the first `i` items that were added.
IdSum SyncSet::SumBefore(size_t i) const {
  if (i == 0) return {};
  const Block& block = *blocks_[(i - 1) / kBlockItems];
  IdSum sum = block.before;
  const size_t in_block = (i - 1) % kBlockItems + 1;
  for (size_t n = 0; n < in_block; ++n) sum.Add(block.items[n].id);
  return sum;
}

Fingerprint SyncSet::FingerprintOf(size_t begin, size_t end) const {
  IdSum sum = SumBefore(size_ - begin);
  sum.Subtract(SumBefore(size_ - end));
  return sum.FingerprintOf(end - begin);
}

}  // namespace weir
