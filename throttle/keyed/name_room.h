// NameRoom: room for names that strangers choose, in bytes, over all shards and threads. Three quarters are for any
// party, in the order in which they come. In the last quarter a party finds room only while all that it holds is at
// most a 64th of what is left. So one party that fills the room leaves a quarter to the others, and a hundred such
// parties leave a twentieth. Parties are told apart by a hash that no client can aim at, 4,096 of them.
//
// Threads: any.
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
  // The party of names that belong to no client; only the whole room is its bound.
  static constexpr uint16_t kNoParty = 4096;
  static uint16_t PartyOf(std::optional<uint64_t> hash) {
    return hash ? static_cast<uint16_t>(*hash % kNoParty) : kNoParty;
  }

  // Makes room for `names` names of `bytes_each` bytes each.
  NameRoom(size_t names, size_t bytes_each)
      : one_name_(bytes_each), reserve_(names / 4 * bytes_each), bytes_(names * bytes_each) {}

  bool HasRoom(uint16_t party, size_t bytes) const {
    const size_t left = bytes_.left();
    if (bytes > left) return false;
    if (party == kNoParty || left - bytes >= reserve_) return true;
    return held_by_[party].load(std::memory_order_relaxed) + bytes <= std::max(left / kShares, one_name_);
  }
  // Takes room for a name. Returns false if there is none.
  bool Take(uint16_t party, size_t bytes) {
    if (!HasRoom(party, bytes) || !bytes_.Take(bytes)) return false;
    if (party != kNoParty) held_by_[party].fetch_add(bytes, std::memory_order_relaxed);
    names_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void GiveBack(uint16_t party, size_t bytes) {
    Change(party, bytes, 0);
    names_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Changes what a present name holds, beyond the room if need be.
  void Change(uint16_t party, size_t before, size_t now) {
    bytes_.TakeAnyway(now - before);  // modulo 2^64, like all that is counted here
    if (party != kNoParty) held_by_[party].fetch_add(now - before, std::memory_order_relaxed);
  }

  size_t names() const { return names_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShares = 64;

  const size_t one_name_;  // in a small room each party may have one name
  const size_t reserve_;
  Bound bytes_;
  std::atomic<size_t> names_{0};
  std::array<std::atomic<size_t>, kNoParty> held_by_{};
};

}  // namespace weir
