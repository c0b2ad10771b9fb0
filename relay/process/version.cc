#include "relay/process/version.h"

#include <rocksdb/version.h>

namespace weir {

std::string_view Version() { return WEIR_VERSION; }

std::string RocksDbVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH);
}

}  // namespace weir
