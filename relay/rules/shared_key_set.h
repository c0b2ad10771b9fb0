// SharedKeySet: a set of 32-byte keys, such as banned authors, that changes while other threads look keys up. It has 64
// parts, each with a lock that is held for one look-up or change (bench/rules_bench.cc measures them).
//
// Threads: any thread may call any function.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_set>

#include "config/mutex.h"
#include "config/text/name_hash.h"
#include "relay/nostr/event.h"

namespace weir {

class SharedKeySet {
 public:
  bool Has(const Bytes32& key) const {
    if (empty()) return false;
    const Part& part = PartOf(key);
    const MutexLock lock(part.mutex);
    return part.keys.contains(key);
  }
  void Add(const Bytes32& key) {
    Part& part = PartOf(key);
    const MutexLock lock(part.mutex);
    if (!part.keys.insert(key).second) return;
    ++size_;
    ++changes_;
  }
  void Remove(const Bytes32& key) {
    Part& part = PartOf(key);
    const MutexLock lock(part.mutex);
    if (part.keys.erase(key) == 0) return;
    --size_;
    ++changes_;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Returns how often the set has changed.
  uint64_t changes() const { return changes_; }

 private:
  struct Hash {
    size_t operator()(const Bytes32& key) const {
      return HashOfName({reinterpret_cast<const char*>(key.data()), key.size()});
    }
  };
  struct Part {
    mutable Mutex mutex;
    std::unordered_set<Bytes32, Hash> keys WEIR_GUARDED_BY(mutex);
  };
  static constexpr size_t kParts = 64;

  const Part& PartOf(const Bytes32& key) const { return parts_[Hash()(key) >> 40 & (kParts - 1)]; }
  Part& PartOf(const Bytes32& key) { return parts_[Hash()(key) >> 40 & (kParts - 1)]; }

  std::array<Part, kParts> parts_;
  std::atomic<size_t> size_ = 0;
  std::atomic<uint64_t> changes_ = 0;
};

}  // namespace weir
