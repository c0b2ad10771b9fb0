// A file system whose disk is slow by itself.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/rate_limiter.h>

#include <memory>

namespace weir {

// Returns RocksDB's own Env with a file system in which the tables and blob files are written at the rate of `disk`, by
// all databases that use the Env together. A WAL is not slowed down: it is not synced, so it waits for no disk.
std::unique_ptr<rocksdb::Env> SlowEnv(std::shared_ptr<rocksdb::RateLimiter> disk);

}  // namespace weir
