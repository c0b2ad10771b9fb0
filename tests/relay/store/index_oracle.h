// Computes what the index must contain, from the JSON of the stored events and the table in relay/store/keys.h. Shares
// no code with the store, which writes the index.
#pragma once

#include <string>

#include "relay/store/rocksdb_store.h"

namespace weir {

// Returns the first entries that are missing or superfluous, one on each line; empty if the index is right.
std::string IndexDifference(const RocksDbStore& store);

}  // namespace weir
