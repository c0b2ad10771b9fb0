// RocksDB's own log, for its warnings: the file LOG beside the database, LOG.old once it has grown large.
//
// RocksDB 7.8 as Debian builds it, with assertions, aborts the program when its logger writes again after a write that
// failed, as on a full disk. This one loses the line instead.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

namespace weir {

std::shared_ptr<rocksdb::Logger> MakeEngineLog(const std::string& directory);

}  // namespace weir
