// Measures what ThrottledDb adds to a write while nothing is limited: over a database that does nothing, beside that
// database alone.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "throttle/rocksdb/throttled_db.h"

namespace weir {
namespace {

// A database whose writes do nothing.
class NullDb final : public rocksdb::StackableDB {
 public:
  NullDb() : StackableDB(static_cast<rocksdb::DB*>(nullptr)) {}
  rocksdb::Status Put(const rocksdb::WriteOptions&, rocksdb::ColumnFamilyHandle*, const rocksdb::Slice&,
                      const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status Write(const rocksdb::WriteOptions&, rocksdb::WriteBatch*) override { return rocksdb::Status::OK(); }
};

// An engine that stands idle, with a limiter that has looked at it once, so the gate is open.
class IdleEngine {
 public:
  IdleEngine() {
    (void)monitor_.SampleOnce();
    limiter_.Tick();
  }
  AdaptiveLimiter& limiter() { return limiter_; }

 private:
  class Idle final : public LoadProbe {
    Status Probe(TimePoint, LoadSample* sample) override {
      sample->Add({.name = "l0",
                   .level = 0,
                   .bytes_per_level = 40e15,
                   .dead_time = std::chrono::seconds(1),
                   .drain_bytes_per_second = 1e18});
      sample->write_burst_bytes = uint64_t{1} << 60;
      return Status();
    }
  };
  LoadMonitor monitor_{std::make_unique<Idle>()};
  AdaptiveLimiter limiter_{monitor_};
};

struct Databases {
  IdleEngine engine;
  NullDb alone;
  ThrottledDb throttled{std::make_unique<NullDb>(), engine.limiter()};
};

std::unique_ptr<Databases> databases;
const std::string* const kKey = new std::string(16, 'k');
const std::string* const kValue = new std::string(1000, 'v');

void Put(benchmark::State& state, rocksdb::DB& db) {
  const rocksdb::WriteOptions options;
  for (auto _ : state) {
    if (!db.Put(options, nullptr, *kKey, *kValue).ok()) state.SkipWithError("the put was refused");
  }
}

void WriteOne(benchmark::State& state, rocksdb::DB& db) {
  const rocksdb::WriteOptions options;
  rocksdb::WriteBatch batch;
  if (!batch.Put(*kKey, *kValue).ok()) state.SkipWithError("the batch is broken");
  for (auto _ : state) {
    if (!db.Write(options, &batch).ok()) state.SkipWithError("the batch was refused");
  }
}

void MakeDatabases(const benchmark::State&) { databases = std::make_unique<Databases>(); }
void EndDatabases(const benchmark::State&) { databases.reset(); }

void PutAlone(benchmark::State& state) { Put(state, databases->alone); }
void PutThrottled(benchmark::State& state) { Put(state, databases->throttled); }
void WriteAlone(benchmark::State& state) { WriteOne(state, databases->alone); }
void WriteThrottled(benchmark::State& state) { WriteOne(state, databases->throttled); }

BENCHMARK(PutAlone)->Setup(MakeDatabases)->Teardown(EndDatabases);
BENCHMARK(PutThrottled)
    ->Setup(MakeDatabases)
    ->Teardown(EndDatabases)
    ->Threads(1)
    ->Threads(2)
    ->Threads(8)
    ->UseRealTime();
BENCHMARK(WriteAlone)->Setup(MakeDatabases)->Teardown(EndDatabases);
BENCHMARK(WriteThrottled)->Setup(MakeDatabases)->Teardown(EndDatabases);

}  // namespace
}  // namespace weir
