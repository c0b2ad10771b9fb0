// Works out anew what the index must be, from the JSON of the stored events and the table in relay/store/keys.h. Shares
// no code with what writes it.
#pragma once

#include <string>

#include "relay/store/rocksdb_store.h"

namespace weir {

// Returns the first entries that are missing or too many, a line each; empty if the index is right.
std::string IndexDifference(const RocksDbStore& store);

}  // namespace weir
