// The examples of throttle/EMBEDDING.md. The text between "// example:" and "// end of example" is quoted there word
// for word; examples_are_quoted checks it.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "throttle/adaptive_limiter.h"
#include "throttle/await_admission.h"

namespace {

// An engine of another kind: a bounded queue of jobs.
struct JobEngine {
  static constexpr double kMostQueuedBytes = 64e6;
  std::atomic<double> queued_bytes{0};
  std::atomic<double> done_bytes_per_second{0};
};

// example: a probe of another engine
class JobProbe final : public weir::LoadProbe {
 public:
  explicit JobProbe(const JobEngine& engine) : engine_(engine) {}

  weir::Status Probe(weir::TimePoint, weir::LoadSample* sample) override {
    sample->Add(
        {.name = "backlog",
         .level = engine_.queued_bytes / JobEngine::kMostQueuedBytes,  // 1.0: where the engine itself would brake
         .bytes_per_level = JobEngine::kMostQueuedBytes,
         .dead_time = std::chrono::milliseconds(200),                // until a change of the inflow shows
         .drain_bytes_per_second = engine_.done_bytes_per_second});  // 0 where it is not known
    return {};
  }

 private:
  const JobEngine& engine_;
};
// end of example

TEST(Examples, AProbeOfAnotherEngine) {
  JobEngine engine;
  engine.queued_bytes = 80e6;
  engine.done_bytes_per_second = 10e6;
  weir::LoadMonitor monitor(std::make_unique<JobProbe>(engine));
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
  weir::LoadMonitor monitor(std::make_unique<JobProbe>(engine));
  weir::AdaptiveLimiter limiter(monitor);
  boost::asio::io_context io;
  auto answer = boost::asio::co_spawn(io, Store(limiter, "an event", 7), boost::asio::use_future);
  io.run();
  EXPECT_EQ(answer.get(), "ok");
}

}  // namespace
