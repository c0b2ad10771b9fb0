#include "bench/storm/engine_policies.h"

#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace weir {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::milliseconds(100);

void MergeFlushes(rocksdb::Options* options) {
  const LsmGeometry prepared = PreparedGeometry(GeometryOf(*options));
  options->min_write_buffer_number_to_merge = prepared.buffers_per_flush;
  options->max_write_buffer_number = prepared.max_write_buffers;
}

}  // namespace

void AlonePolicy::Adapt(StormEngine::Options& options) const {
  const int moved = l0_slowdown_files_ - options.rocksdb.level0_slowdown_writes_trigger;
  options.rocksdb.level0_slowdown_writes_trigger += moved;
  options.rocksdb.level0_stop_writes_trigger += moved;
}

WriteResult AlonePolicy::Write(Party, rocksdb::WriteBatch& batch) { return {.status = db().Write({}, &batch)}; }

WriteResult LowPriPolicy::Write(Party party, rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions options;
  options.low_pri = party.work_class == WorkClass::kBulk;
  return {.status = db().Write(options, &batch)};
}

void AloneMergedPolicy::Adapt(StormEngine::Options& options) const { MergeFlushes(&options.rocksdb); }

void LowPriMergedPolicy::Adapt(StormEngine::Options& options) const { MergeFlushes(&options.rocksdb); }

WriteResult NoSlowdownPolicy::Write(Party party, rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions options;
  options.no_slowdown = party.work_class == WorkClass::kBulk;
  Duration waited{};
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const rocksdb::Status status = db().Write(options, &batch);
    if (!status.IsIncomplete()) return {.status = status, .waited = waited};
    if (stopped_) return {.refused = true, .waited = waited};
    std::this_thread::sleep_for(pause);
    waited += pause;
  }
}

void AutoTunedPolicy::Adapt(StormEngine::Options& options) const {
  constexpr int64_t kRefillMicroseconds = 10'000;
  constexpr int32_t kFairness = 10;
  options.disk.reset(rocksdb::NewGenericRateLimiter(options.disk->GetBytesPerSecond(), kRefillMicroseconds, kFairness,
                                                    rocksdb::RateLimiter::Mode::kWritesOnly, /*auto_tuned=*/true));
  options.rocksdb.rate_limiter = options.disk;
}

void BufferStallPolicy::Adapt(StormEngine::Options& options) const {
  // At scale 1 as many bytes as a column family may have in memtables.
  const double scale = static_cast<double>(options.rocksdb.write_buffer_size) / (4 << 20);
  options.rocksdb.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
      static_cast<size_t>(mebibytes_ * scale * (1 << 20)), nullptr, /*allow_stall=*/true);
}

}  // namespace weir
