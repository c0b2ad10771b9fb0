// StoreWalk: reads all events and marks of a store, in the order of their keys, so that stores can be compared or
// copied. It works for RocksDB and for PostgreSQL (postgres/postgres_walk.h).
//
// A walk divides the content of a store into four shelves. The caller reads each shelf separately, some entries at a
// time. The numbers in the table are sizes in bytes. The last three shelves have marks. A mark records that an id was
// deleted, or that an address was deleted or an author vanished up to a created_at (`until`).
//
//   | shelf             | key                           | value                      |
//   |-------------------|-------------------------------|----------------------------|
//   | kEvents           | id 32                         | record                     |
//   | kDeletedIds       | id 32, author's first 16      |                            |
//   | kDeletedAddresses | address 16                    | until 8, big-endian        |
//   | kVanished         | author 32                     | until 8, big-endian        |
//
// Threads: only one thread at a time may use a walk. The store must outlive it.
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
  // Returns up to `most` entries whose keys come after the key `after`, in the order of the keys. If `after` is empty,
  // it begins with the first entry. It returns fewer than `most` only at the end of the shelf.
  virtual Result<std::vector<ShelfEntry>> Read(Shelf shelf, const std::string& after, size_t most) = 0;
};

// Returns a walk that shows the store as it is now; later writes do not change what it shows.
std::unique_ptr<StoreWalk> WalkThrough(const RocksDbStore& store);

}  // namespace weir
