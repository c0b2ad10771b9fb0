#include "throttle/rocksdb/rocksdb_throttle.h"

#include <stdexcept>
#include <utility>

namespace weir {
namespace {

bool HasMovedBrakes(const PreparedRocksDb& prepared) {
  for (const auto& [family, geometry] : prepared.geometry)
    if (geometry.brakes_moved) return true;
  return false;
}

}  // namespace

RocksDbThrottle::RocksDbThrottle(std::unique_ptr<RocksDbMonitor> monitor, const LimiterSettings& settings)
    : monitor_(std::move(monitor)), limiter_(*monitor_, settings) {
  monitor_->Start();
  limiter_.Start();
}

RocksDbThrottle::~RocksDbThrottle() = default;

template <typename Opened>
Result<std::unique_ptr<RocksDbThrottle>> RocksDbThrottle::AttachTo(rocksdb::DB* db, const Opened& opened,
                                                                   const Options& options) {
  try {
    auto monitor = std::make_unique<RocksDbMonitor>(db, options.handles, opened, options.monitor);
    return std::unique_ptr<RocksDbThrottle>(new RocksDbThrottle(std::move(monitor), options.limiter));
  } catch (const std::invalid_argument& e) {
    return Status::Error(e.what());
  }
}

Result<std::unique_ptr<RocksDbThrottle>> RocksDbThrottle::Attach(rocksdb::DB* db, const PreparedRocksDb& prepared,
                                                                 const Options& options) {
  if (HasMovedBrakes(prepared) && !options.limiter.ReplacesBrakes()) {
    return Status::Error(
        "the brakes of this RocksDB were moved out of the way of a limiter that is off or opens when the sensor is "
        "lost: prepare its options with EngineBrakes::kAsSet");
  }
  return AttachTo(db, prepared, options);
}

Result<std::unique_ptr<RocksDbThrottle>> RocksDbThrottle::Attach(rocksdb::DB* db, uint64_t memory_target_bytes,
                                                                 const Options& options) {
  return AttachTo(db, memory_target_bytes, options);
}

}  // namespace weir
