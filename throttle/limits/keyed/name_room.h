// NameRoom: bounds the memory for names that clients choose. It counts the bytes of all shards and threads together.
// The first three quarters of the memory go to any names, in the order in which they come. In the last quarter, a name
// gets memory only if the names of its party (one client or a few) then take at most a 64th of the memory that is left,
// or are no larger than one usual name. So a single party can fill only three quarters, and a hundred greedy parties
// together leave a twentieth free. A client belongs to one of 4,096 parties, by a hash that no client can influence.
//
// Threads: any thread may call any function.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "config/bound.h"

namespace weir {

class NameRoom {
 public:
  // The party of a name that belongs to no client. Such a name gets memory as long as any is left.
  static constexpr uint16_t kNoParty = 4096;
  // Returns the party of the client with that hash; kNoParty for nullopt.
  static uint16_t PartyOf(std::optional<uint64_t> hash) {
    return hash ? static_cast<uint16_t>(*hash % kNoParty) : kNoParty;
  }

  // The bound is `names` * `bytes_each` bytes.
  NameRoom(size_t names, size_t bytes_each)
      : one_name_(bytes_each), reserve_(names / 4 * bytes_each), bytes_(names * bytes_each) {}

  // Returns true if `bytes` more bytes are available now, for a new name or for one that grows. Another thread may take
  // them before the caller does.
  bool HasRoom(uint16_t party, size_t bytes) const {
    const size_t left = bytes_.left();
    if (bytes > left) return false;
    if (party == kNoParty || left - bytes >= reserve_) return true;
    return held_by_[party].load(std::memory_order_relaxed) + bytes <= std::max(left / kShares, one_name_);
  }
  // Reserves `bytes` bytes for a new name. Returns false if they are not available.
  bool Take(uint16_t party, size_t bytes) {
    if (!HasRoom(party, bytes) || !bytes_.Take(bytes)) return false;
    if (party != kNoParty) held_by_[party].fetch_add(bytes, std::memory_order_relaxed);
    names_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // Releases the bytes of a name that was removed. `bytes` is the number of all its bytes.
  void GiveBack(uint16_t party, size_t bytes) {
    Change(party, bytes, 0);
    names_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Records that a name which took `before` bytes takes `now` bytes, even if this exceeds the bound.
  void Change(uint16_t party, size_t before, size_t now) {
    bytes_.TakeAnyway(now - before);  // wraps around if now < before, which is right modulo 2^64
    if (party != kNoParty) held_by_[party].fetch_add(now - before, std::memory_order_relaxed);
  }

  size_t names() const { return names_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShares = 64;

  const size_t one_name_;  // a party may always have this many bytes, if they are left
  const size_t reserve_;   // the last quarter
  Bound bytes_;
  std::atomic<size_t> names_{0};
  std::array<std::atomic<size_t>, kNoParty> held_by_{};
};

}  // namespace weir
