#include "bench/measure/started_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <ctime>
#include <future>
#include <optional>
#include <thread>

namespace weir {
namespace {

constexpr double kWork = 0.02;  // seconds of CPU time

void Work() {
  timespec used{};
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  while (static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 < kWork);
}

// A thread that works, says so, and lives until the test ends.
class Worker {
 public:
  explicit Worker(const char* name = "worker")
      : thread_([this, name] {
          pthread_setname_np(pthread_self(), name);
          Work();
          worked_.set_value();
          end_.get_future().wait();
        }) {}
  ~Worker() {
    end_.set_value();
    thread_.join();
  }
  void AwaitWork() { worked_.get_future().wait(); }

 private:
  std::promise<void> worked_, end_;
  std::thread thread_;
};

TEST(StartedThreads, CountsTheWorkOfTheThreadsThatTheFunctionStarts) {
  std::optional<Worker> first, second;
  const StartedThreads threads([&] {
    first.emplace();
    second.emplace();
  });
  first->AwaitWork();
  second->AwaitWork();
  EXPECT_GE(threads.CpuSeconds(), 2 * kWork);
}

TEST(StartedThreads, CountsNoOtherThreadAndNotTheCaller) {
  Worker before;
  const StartedThreads threads([] { Work(); });
  Worker after;
  before.AwaitWork();
  after.AwaitWork();
  EXPECT_EQ(threads.CpuSeconds(), 0);
}

TEST(StartedThreads, DoesNotCountRocksDbsBackground) {
  std::optional<Worker> compaction;
  const StartedThreads threads([&] { compaction.emplace("rocksdb:low0"); });
  compaction->AwaitWork();
  EXPECT_EQ(threads.CpuSeconds(), 0);
}

TEST(StartedThreads, AThreadThatHasEndedCountsNoMore) {
  std::optional<Worker> worker;
  const StartedThreads threads([&] { worker.emplace(); });
  worker->AwaitWork();
  worker.reset();
  EXPECT_EQ(threads.CpuSeconds(), 0);
}

}  // namespace
}  // namespace weir
