#include "monitors/rocksdb_counters.h"

#include <cstdlib>
#include <map>
#include <string>

namespace weir {

using Properties = rocksdb::DB::Properties;
using Stats = std::map<std::string, std::string>;

Result<RocksDbCounters> ReadCounters(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* column_family) {
  uint64_t base_level = 1;
  Stats stats;
  if (!db->GetIntProperty(column_family, Properties::kBaseLevel, &base_level) ||
      !db->GetMapProperty(column_family, Properties::kCFStats, &stats)) {
    return Status::Error("RocksDB does not answer rocksdb.cfstats for column family " + column_family->GetName());
  }
  return ParseCounters(stats, static_cast<int>(base_level));
}

Result<double> ReadUserBytes(rocksdb::DB* db) {
  Stats stats;
  if (!db->GetMapProperty(Properties::kDBStats, &stats))
    return Status::Error("RocksDB does not answer rocksdb.dbstats");
  const auto found = stats.find("db.user_bytes_written");
  return found == stats.end() ? 0.0 : std::strtod(found->second.c_str(), nullptr);
}

}  // namespace weir
