// SharedKeySet: a set of 32-byte keys, such as banned authors, that changes while other threads look keys up. A look-up
// takes no lock unless it meets a change, which takes less than a microsecond (bench/rules_bench.cc measures both).
//
// The table of the keys is replaced by one with twice the places when it is full. The tables before it stay until the
// set is destroyed, because a look-up may still read one; together they are smaller than the present one. So a set that
// has had at most 200,000 keys (the most that moderation/ keeps in a list) takes at most 21 MB.
//
// Threads: any thread may call any function.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "relay/rules/key_table.h"

namespace weir {

class SharedKeySet {
 public:
  SharedKeySet() { UseTableFor(0); }

  bool Has(const Bytes32& key) const {
    if (empty()) return false;
    const uint64_t step = steps_.load(std::memory_order_acquire);
    const bool has = table_.load(std::memory_order_acquire)->Has(key);
    if (step % 2 == 0 && steps_.load(std::memory_order_relaxed) == step) return has;
    const MutexLock lock(mutex_);
    return tables_.back()->Has(key);
  }
  void Add(const Bytes32& key) {
    const MutexLock lock(mutex_);
    if (tables_.back()->full()) UseTableFor(tables_.back()->size() + 1);
    Change([&](KeyTable& table) { return table.Add(key); });
  }
  void Remove(const Bytes32& key) {
    const MutexLock lock(mutex_);
    Change([&](KeyTable& table) { return table.Remove(key); });
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Returns the first four bytes of each key, as big-endian numbers, sorted; null if there are more than `most` keys.
  // They are found once for each change of the set.
  std::shared_ptr<const std::vector<uint32_t>> Beginnings(size_t most) const {
    const MutexLock lock(mutex_);
    if (size_ > most) return nullptr;
    if (beginnings_ && beginnings_of_ == changes_) return beginnings_;
    std::vector<uint32_t> beginnings;
    beginnings.reserve(size_);
    tables_.back()->ForEach([&beginnings](const Bytes32& key) {
      beginnings.push_back(uint32_t{key[0]} << 24 | uint32_t{key[1]} << 16 | uint32_t{key[2]} << 8 | uint32_t{key[3]});
    });
    std::ranges::sort(beginnings);
    beginnings_of_ = changes_;
    beginnings_ = std::make_shared<const std::vector<uint32_t>>(std::move(beginnings));
    return beginnings_;
  }
  // Returns how often the set has changed.
  uint64_t changes() const { return changes_; }

 private:
  // A look-up that reads a part of a change also reads the odd number of steps that was stored before it.
  template <typename Step>
  void Change(const Step& step) WEIR_REQUIRES(mutex_) {
    KeyTable& table = *tables_.back();
    steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const bool changed = step(table);
    steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    size_ = table.size();
    if (changed) ++changes_;
  }
  void UseTableFor(size_t keys) WEIR_REQUIRES(mutex_) {
    tables_.push_back(std::make_unique<KeyTable>(keys));
    if (tables_.size() > 1) tables_.back()->AddAll(*tables_[tables_.size() - 2]);
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::atomic<const KeyTable*> table_;
  std::atomic<uint64_t> steps_ = 0;  // odd during a change
  std::atomic<size_t> size_ = 0;
  std::atomic<uint64_t> changes_ = 0;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<KeyTable>> tables_ WEIR_GUARDED_BY(mutex_);  // the last one is table_
  mutable std::shared_ptr<const std::vector<uint32_t>> beginnings_ WEIR_GUARDED_BY(mutex_);
  mutable uint64_t beginnings_of_ WEIR_GUARDED_BY(mutex_) = 0;  // changes_ when beginnings_ was made
};

}  // namespace weir
