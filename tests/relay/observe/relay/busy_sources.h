// Sources of metrics with values in all of them: a real RocksDB under a real limiter, and invented values for the
// others.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "monitors/rocksdb_monitor.h"
#include "monitors/rocksdb_version.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/observe/trace/traces.h"
#include "tests/fixtures/temp_directory.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class BusySources {
 public:
  BusySources() {
    rocksdb::Options options;
    options.create_if_missing = true;
    auto prepared = PrepareRocksDb(512ull << 20, &options);
    OpenedRocksDb opened{};
    if (!prepared.ok() || !rocksdb::DB::Open(options, directory_.path(), &opened).ok())
      throw std::runtime_error("cannot open " + directory_.path());
    db_ = OwnerOf(&opened);
    monitor_ =
        std::make_unique<RocksDbMonitor>(db_.get(), std::vector<rocksdb::ColumnFamilyHandle*>{}, prepared.value());
    if (const Status status = monitor_->SampleOnce(); !status.ok()) throw std::runtime_error(status.message());
    limiter_ = std::make_unique<AdaptiveLimiter>(*monitor_);
    limiter_->Tick();
    const Admission admission = limiter_->Admit(Operation::kWrite, {1000});
  }
  ~BusySources() {
    limiter_.reset();
    monitor_->Detach();
  }

  MetricSources Sources() const {
    const auto server = [] {
      return ServerStats{.connections = 3, .accepted = 9, .http_errors = 8, .too_slow = 2, .policy_closes = 1};
    };
    return {.service = {.ready = [] { return true; }, .server = server, .traces = traces_.get()},
            .store = [] { return StoreSizes{.events = 42, .disk_bytes = 12345, .damaged_reads = 6}; },
            .group_commit =
                [] {
                  return GroupCommitStats{
                      .writes = 7, .events = 42, .waiting = 4, .failed_bulk_writes = 2, .bulk_waiting = 1};
                },
            .subscriptions = [] { return uint64_t{5}; },
            .work_waiting = [] { return uint64_t{6}; },
            .data_dir = directory_.path(),
            .limiter = limiter_.get(),
            .monitor = monitor_.get(),
            .rocksdb = monitor_.get(),
            .postgres_readers =
                [] {
                  return PoolStats{
                      .most = 32, .allowed = 12, .open = 9, .used = 8, .waiting = 3, .reads = 70, .waits = 20};
                }};
  }

 private:
  const TempDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<RocksDbMonitor> monitor_;
  std::unique_ptr<AdaptiveLimiter> limiter_;
  std::unique_ptr<Traces> traces_ =
      std::make_unique<Traces>(1, TraceTarget{}, [](const HttpCall&) { return HttpAnswer{.status = 200}; });
};

}  // namespace weir
