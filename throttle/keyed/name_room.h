// NameRoom: bounds the memory for names that clients choose, in bytes, over all shards and threads. Three quarters of
// the room are given to the first names that come. In the last quarter a name gets room only if its party (one client
// or a few) then holds at most a 64th of the room that is left. So one party that fills the room leaves a quarter to
// the others, and a hundred such parties leave a twentieth. Clients are put into 4,096 parties by a hash that no client
// can influence.
//
// Threads: every function may be called from any thread.
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
  // The party of names that belong to no client. Such a name gets room as long as there is any.
  static constexpr uint16_t kNoParty = 4096;
  // Returns the party of a client with that hash; kNoParty for nullopt.
  static uint16_t PartyOf(std::optional<uint64_t> hash) {
    return hash ? static_cast<uint16_t>(*hash % kNoParty) : kNoParty;
  }

  // The room is for `names` names of `bytes_each` bytes each.
  NameRoom(size_t names, size_t bytes_each)
      : one_name_(bytes_each), reserve_(names / 4 * bytes_each), bytes_(names * bytes_each) {}

  // Returns true if there is room now for `bytes` bytes, for a new or a growing name. Another thread may take the room
  // first.
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
  // Gives back the room of a name that is gone. `bytes` is all that the name held.
  void GiveBack(uint16_t party, size_t bytes) {
    Change(party, bytes, 0);
    names_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Changes how many bytes a name holds, even if that exceeds the room.
  void Change(uint16_t party, size_t before, size_t now) {
    bytes_.TakeAnyway(now - before);  // modulo 2^64, like all that is counted here
    if (party != kNoParty) held_by_[party].fetch_add(now - before, std::memory_order_relaxed);
  }

  size_t names() const { return names_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShares = 64;

  const size_t one_name_;  // a party may hold this much, however small the room is
  const size_t reserve_;   // the last quarter
  Bound bytes_;
  std::atomic<size_t> names_{0};
  std::array<std::atomic<size_t>, kNoParty> held_by_{};
};

}  // namespace weir
