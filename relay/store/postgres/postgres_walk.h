// Makes a StoreWalk (relay/store/store_walk.h) for the store on PostgreSQL. Unlike the walk of a RocksDbStore, it uses
// no snapshot, so it may see changes that are made during the walk.
#pragma once

#include <memory>

#include "relay/store/postgres/postgres_store.h"
#include "relay/store/store_walk.h"

namespace weir {

// Returns a walk with a connection of its own, which it opens at the first Read. `store` must outlive the walk.
std::unique_ptr<StoreWalk> WalkThrough(const PostgresStore& store);

}  // namespace weir
