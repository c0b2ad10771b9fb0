#include "relay/negentropy/sync_set.h"

#include <stdexcept>
#include <utility>

namespace weir {
namespace {

// A range of so few items is sorted at once, in about as many steps for each.
constexpr size_t kSortedAtOnce = 64;
constexpr size_t kStepsOfFew = 7;

}  // namespace

void SyncSet::Add(const SyncItem& item) {
  if (sorts_) throw std::logic_error("an item was added to a set that is sealed");
  if (item.created_at == kInfinity.created_at) throw std::logic_error("an item has the date of the end of all ranges");
  if (size_ % kBlockItems == 0) blocks_.push_back(std::make_unique<Block>());
  At(size_) = item;
  ++size_;
}

bool SyncSet::Seal(size_t steps) {
  if (sealed_) return true;
  if (!sorts_) BeginSorting();
  if (!SortSome(&steps)) return false;
  for (; summed_ < blocks_.size(); ++summed_) {
    if (steps == 0) return false;
    AddUp(summed_);
    steps -= std::min(steps, kBlockItems);
  }
  sealed_ = true;
  return true;
}

void SyncSet::BeginSorting() {
  sorts_ = true;
  random_.seed(std::random_device{}());
  unsorted_.push_back({0, size_});
}

// Returns false if `*steps` are used up first.
bool SyncSet::SortSome(size_t* steps) {
  while (!unsorted_.empty()) {
    const Range range = unsorted_.back();
    if (range.size() <= kSortedAtOnce) {
      const size_t cost = kStepsOfFew * range.size();
      SortFew(range);
      unsorted_.pop_back();
      if (*steps <= cost) return unsorted_.empty();
      *steps -= cost;
      continue;
    }
    if (!pivot_) {
      pivot_ = PivotOf(range);
      low_ = range.begin;
      high_ = range.end;
    }
    if (!DivideSome(steps)) return false;
    pivot_.reset();
    // The pivot is the least item only if the range has it twice.
    if (low_ == range.begin) throw std::logic_error("an item was added twice");
    unsorted_.back() = {low_, range.end};
    unsorted_.push_back({range.begin, low_});
  }
  return true;
}

// Moves the items of the last range that are before the pivot in front of the others.
bool SyncSet::DivideSome(size_t* steps) {
  const SyncItem pivot = *pivot_;
  for (; low_ < high_; --*steps) {
    if (*steps == 0) return false;
    if (At(low_) < pivot) {
      ++low_;
    } else if (!(At(high_ - 1) < pivot)) {
      --high_;
    } else {
      std::swap(At(low_++), At(--high_));
    }
  }
  return true;
}

void SyncSet::SortFew(const Range& range) {
  std::array<SyncItem, kSortedAtOnce> items;
  const auto end = items.begin() + static_cast<ptrdiff_t>(range.size());
  for (size_t i = 0; i < range.size(); ++i) items[i] = At(range.begin + i);
  std::sort(items.begin(), end);
  for (size_t i = 0; i < range.size(); ++i) At(range.begin + i) = items[i];
}

// Returns the middle one of three items.
SyncItem SyncSet::PivotOf(const Range& range) {
  std::uniform_int_distribution<size_t> any(range.begin, range.end - 1);
  size_t a = any(random_);
  size_t b = any(random_);
  size_t c = any(random_);
  if (a == b || b == c || a == c) {
    a = range.begin;
    b = range.begin + range.size() / 2;
    c = range.end - 1;
  }
  return std::max(std::min(At(a), At(b)), std::min(std::max(At(a), At(b)), At(c)));
}

// Adds the ids of a block to the sum before the next one.
void SyncSet::AddUp(size_t block) {
  const size_t begin = block * kBlockItems;
  const size_t end = std::min(begin + kBlockItems, size_);
  IdSum sum = blocks_[block]->before;
  for (size_t i = begin; i < end; ++i) {
    if (i > 0 && At(i - 1) == At(i)) throw std::logic_error("an item was added twice");
    sum.Add(At(i).id);
  }
  if (block + 1 < blocks_.size()) blocks_[block + 1]->before = sum;
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

// Returns the sum of the ids of the items before `index`.
IdSum SyncSet::SumBefore(size_t index) const {
  if (index == 0) return {};
  const Block& block = *blocks_[(index - 1) / kBlockItems];
  IdSum sum = block.before;
  const size_t in_block = (index - 1) % kBlockItems + 1;
  for (size_t n = 0; n < in_block; ++n) sum.Add(block.items[n].id);
  return sum;
}

Fingerprint SyncSet::FingerprintOf(size_t begin, size_t end) const {
  IdSum sum = SumBefore(end);
  sum.Subtract(SumBefore(begin));
  return sum.FingerprintOf(end - begin);
}

}  // namespace weir
