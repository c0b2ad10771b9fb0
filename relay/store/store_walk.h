// StoreWalk: visits everything that a store keeps, in the order of its keys, on any engine: to compare or to copy it.
//
// Each shelf is read by itself, a piece at a time:
//
//   | shelf             | key                           | value                      |
//   |-------------------|-------------------------------|----------------------------|
//   | kEvents           | id 32                         | record                     |
//   | kDeletedIds       | id 32, author's first 16      |                            |
//   | kDeletedAddresses | address 16                    | until 8, big-endian        |
//   | kVanished         | author 32                     | until 8, big-endian        |
//
// Threads: one at a time. The store must outlive the walk.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"

namespace weir {

class RocksDbStore;

enum class Shelf : char { kEvents = 'i', kDeletedIds = 'e', kDeletedAddresses = 'r', kVanished = 'v' };
inline constexpr std::array<Shelf, 3> kMarks{Shelf::kDeletedIds, Shelf::kDeletedAddresses, Shelf::kVanished};

struct ShelfEntry {
  std::string key;
  std::string value;
};

class StoreWalk {
 public:
  virtual ~StoreWalk() = default;
  // Returns the next `most` entries behind `after`, or fewer at the end only. "" is before the first.
  virtual Result<std::vector<ShelfEntry>> Read(Shelf shelf, const std::string& after, size_t most) = 0;
};

// Walks through the store as it is at this moment.
std::unique_ptr<StoreWalk> WalkThrough(const RocksDbStore& store);

}  // namespace weir
