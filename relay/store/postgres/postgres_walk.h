// The walk through a PostgreSQL (store_walk.h). It sees what others write meanwhile.
#pragma once

#include <memory>

#include "relay/store/postgres/postgres_store.h"
#include "relay/store/store_walk.h"

namespace weir {

std::unique_ptr<StoreWalk> WalkThrough(const PostgresStore& store);

}  // namespace weir
