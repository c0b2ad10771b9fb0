// The examples of throttle/README.md. What stands between "// example:" and "// end of example" stands there word for
// word; examples_are_quoted checks it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "monitors/rocksdb_monitor.h"
#include "monitors/rocksdb_options.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "throttle/adaptive_limiter.h"
#include "throttle/await_admission.h"

namespace {

// example: gate a RocksDB
class GatedStore {
 public:
  GatedStore(rocksdb::Options options, const std::string& path, uint64_t memory_target_bytes) {
    auto prepared = weir::PrepareRocksDb(memory_target_bytes, &options).value();
    rocksdb::DB* db = nullptr;
    if (!rocksdb::DB::Open(options, path, &db).ok()) throw std::runtime_error("cannot open " + path);
    db_.reset(db);
    monitor_ = std::make_unique<weir::RocksDbMonitor>(db, std::vector<rocksdb::ColumnFamilyHandle*>{}, prepared);
    limiter_ = std::make_unique<weir::AdaptiveLimiter>(*monitor_);
    monitor_->Start();
    limiter_->Start();
  }

  rocksdb::Status Write(rocksdb::WriteBatch* batch, uint64_t client) {
    weir::Admission admission = limiter_->Admit(weir::Operation::kWrite, {batch->GetDataSize()}, {.id = client});
    admission.Wait();
    if (!admission.admitted()) return rocksdb::Status::Busy(std::string(admission.reason()));
    return db_->Write({}, batch);
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;  // ends last: the monitor asks it until it ends itself
  std::unique_ptr<weir::RocksDbMonitor> monitor_;
  std::unique_ptr<weir::AdaptiveLimiter> limiter_;
};
// end of example

TEST(Examples, GateARocksDb) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir_example_" + std::to_string(::getpid()));
  rocksdb::Options options;
  options.create_if_missing = true;
  {
    GatedStore store(options, path, 512 << 20);
    for (int n = 0; n < 100; ++n) {
      rocksdb::WriteBatch batch;
      ASSERT_TRUE(batch.Put("key" + std::to_string(n), std::string(100, 'v')).ok());
      EXPECT_TRUE(store.Write(&batch, 1).ok());
    }
  }
  std::filesystem::remove_all(path);
}

// An engine of another kind: a queue of jobs with a bound.
struct JobEngine {
  static constexpr double kMostQueuedBytes = 64e6;
  std::atomic<double> queued_bytes{0};
  std::atomic<double> done_bytes_per_second{0};
};

// example: a monitor for another engine
class JobMonitor final : public weir::LoadMonitor {
 public:
  explicit JobMonitor(const JobEngine& engine) : engine_(engine) {}
  ~JobMonitor() override { Stop(); }

 private:
  weir::Status Probe(weir::TimePoint, weir::LoadSample* sample) override {
    sample->Add(
        {.name = "backlog",
         .level = engine_.queued_bytes / JobEngine::kMostQueuedBytes,  // 1.0: where the engine itself would brake
         .bytes_per_level = JobEngine::kMostQueuedBytes,
         .dead_time = std::chrono::milliseconds(200),                // until a change of the inflow shows
         .drain_bytes_per_second = engine_.done_bytes_per_second});  // 0 where it is not known
    return {};
  }

  const JobEngine& engine_;
};
// end of example

TEST(Examples, AMonitorForAnotherEngine) {
  JobEngine engine;
  engine.queued_bytes = 80e6;
  engine.done_bytes_per_second = 10e6;
  JobMonitor monitor(engine);
  weir::AdaptiveLimiter limiter(monitor);
  ASSERT_TRUE(monitor.SampleOnce().ok());
  limiter.Tick();
  EXPECT_EQ(limiter.Reason(weir::Operation::kWrite), "backlog");
  EXPECT_LT(limiter.View()[weir::WorkClass::kInteractive].bytes_per_second, 10e6);
}

// example: a coroutine
boost::asio::awaitable<std::string> Store(weir::AdaptiveLimiter& limiter, std::string event, uint64_t connection) {
  weir::Admission admission = co_await weir::AwaitAdmission(limiter, weir::Operation::kWrite, weir::Cost{event.size()},
                                                            weir::Party{connection});
  if (!admission.admitted()) co_return "rate-limited: " + std::string(admission.reason());
  // … store it; the permit ends with `admission`.
  co_return "ok";
}
// end of example

TEST(Examples, ACoroutine) {
  JobEngine engine;
  JobMonitor monitor(engine);
  weir::AdaptiveLimiter limiter(monitor);
  boost::asio::io_context io;
  auto answer = boost::asio::co_spawn(io, Store(limiter, "an event", 7), boost::asio::use_future);
  io.run();
  EXPECT_EQ(answer.get(), "ok");
}

}  // namespace
