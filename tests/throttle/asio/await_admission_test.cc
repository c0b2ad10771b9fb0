#include "throttle/await_admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

class AwaitAdmissionTest : public LimiterTest {
 protected:
  void SetUp() override {
    Build();
    Say(0.85);
    Tick();
  }

  // Uses up the tokens, so that every further request has to wait.
  void Exhaust() {
    int writes = 0;
    while (Write(1000).admitted()) ASSERT_LT(++writes, 1'000'000) << "the gate does not close";
  }

  asio::awaitable<void> Ask(uint64_t bytes, Admission::State* state, std::string* reason = nullptr) {
    const Admission admission = co_await AwaitAdmission(*limiter_, Operation::kWrite, {bytes}, {.id = 1});
    *state = admission.state();
    if (reason != nullptr) *reason = admission.reason();
  }

  size_t Waiting() const { return limiter_->Stats(Operation::kWrite).waiting; }
};

TEST_F(AwaitAdmissionTest, ResumesAtOnceWhenThereIsRoom) {
  asio::io_context io;
  auto state = Admission::State::kWaiting;
  asio::co_spawn(io, Ask(10, &state), asio::detached);
  io.run();
  EXPECT_EQ(state, Admission::State::kAdmitted);
}

TEST_F(AwaitAdmissionTest, ResumesWithARefusal) {
  Exhaust();
  asio::io_context io;
  auto state = Admission::State::kWaiting;
  std::string reason;
  std::vector<Admission> queue;
  for (int n = 0; n < 100; ++n) queue.push_back(Write(1'000'000));
  asio::co_spawn(io, Ask(1'000'000, &state, &reason), asio::detached);
  io.run();
  EXPECT_EQ(state, Admission::State::kRefused);
  EXPECT_EQ(reason, "l0");
}

TEST_F(AwaitAdmissionTest, AWaitBlocksNoThreadAndCountsAsWork) {
  Exhaust();
  asio::io_context io;
  auto state = Admission::State::kWaiting;
  asio::co_spawn(io, Ask(1000, &state), asio::detached);
  io.poll();
  EXPECT_EQ(Waiting(), 1U);
  EXPECT_FALSE(io.stopped()) << "there is work left";
  EXPECT_EQ(state, Admission::State::kWaiting);
  clock_.Advance(seconds(1));
  limiter_->Pump();
  EXPECT_EQ(state, Admission::State::kWaiting) << "not from the limiter's thread";
  io.run();
  EXPECT_EQ(state, Admission::State::kAdmitted);
}

TEST_F(AwaitAdmissionTest, ResumesOnTheExecutorItWasStartedOn) {
  Exhaust();
  asio::thread_pool pool(2);
  auto strand = asio::make_strand(pool);
  auto on_strand = asio::co_spawn(
      strand,
      [&]() -> asio::awaitable<bool> {
        const Admission admission = co_await AwaitAdmission(*limiter_, Operation::kWrite, {1000});
        co_return admission.admitted() && strand.running_in_this_thread();
      },
      asio::use_future);
  ASSERT_TRUE(Eventually([this] { return Waiting() > 0; }));
  clock_.Advance(seconds(1));
  limiter_->Pump();
  EXPECT_TRUE(on_strand.get());
}

TEST_F(AwaitAdmissionTest, TakesCallbacksAndFutures) {
  asio::io_context io;
  bool called = false;
  AwaitAdmission(*limiter_, Operation::kWrite, {10}, {},
                 asio::bind_executor(io, [&](Admission admission) { called = admission.admitted(); }));
  EXPECT_FALSE(called) << "never from within the call";
  io.run();
  EXPECT_TRUE(called);
  auto future = AwaitAdmission(*limiter_, Operation::kWrite, {10}, {}, asio::bind_executor(io, asio::use_future));
  io.restart();
  io.run();
  EXPECT_TRUE(future.get().admitted());
}

TEST_F(AwaitAdmissionTest, ACancelledWaitLeavesTheQueueAndSaysSo) {
  Exhaust();
  for (auto type :
       {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
    asio::io_context io;
    asio::cancellation_signal signal;
    std::string reason;
    AwaitAdmission(*limiter_, Operation::kWrite, {1000}, {},
                   asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, [&](Admission admission) {
                                                  reason = admission.reason();
                                                })));
    ASSERT_EQ(Waiting(), 1U);
    signal.emit(type);
    EXPECT_EQ(Waiting(), 0U);
    EXPECT_EQ(reason, "");
    io.run();
    EXPECT_EQ(reason, "cancelled");
    signal.emit(type);
  }
}

TEST_F(AwaitAdmissionTest, ACancellationAfterTheTurnComesTooLate) {
  Exhaust();
  asio::io_context io;
  asio::cancellation_signal signal;
  int calls = 0;
  auto state = Admission::State::kWaiting;
  AwaitAdmission(*limiter_, Operation::kWrite, {1000}, {},
                 asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, [&](Admission admission) {
                                                state = admission.state();
                                                ++calls;
                                              })));
  clock_.Advance(seconds(1));
  limiter_->Pump();
  signal.emit(asio::cancellation_type::total);
  io.run();
  EXPECT_EQ(state, Admission::State::kAdmitted);
  EXPECT_EQ(calls, 1);
}

TEST_F(AwaitAdmissionTest, LosesARaceAgainstATimer) {
  using asio::experimental::awaitable_operators::operator||;
  Exhaust();
  asio::io_context io;
  size_t winner = 9;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(io, milliseconds(1));
        const auto first =
            co_await (AwaitAdmission(*limiter_, Operation::kWrite, {1000}) || timer.async_wait(asio::use_awaitable));
        winner = first.index();
      },
      asio::detached);
  io.run();
  EXPECT_EQ(winner, 1U);
  EXPECT_EQ(Waiting(), 0U);
}

TEST_F(AwaitAdmissionTest, TheContextMayEndWithWaitsPending) {
  Exhaust();
  auto state = Admission::State::kWaiting;
  auto io = std::make_unique<asio::io_context>();
  for (int n = 0; n < 10; ++n) asio::co_spawn(*io, Ask(1000, &state), asio::detached);
  io->poll();
  EXPECT_EQ(Waiting(), 10U);
  io.reset();
  EXPECT_EQ(Waiting(), 0U);
  clock_.Advance(seconds(1));
  limiter_->Pump();
  EXPECT_EQ(state, Admission::State::kWaiting) << "nobody was called";
}

TEST_F(AwaitAdmissionTest, TheContextMayEndWithUntakenTurns) {
  auto io = std::make_unique<asio::io_context>();
  auto state = Admission::State::kWaiting;
  asio::co_spawn(*io, Ask(10, &state), asio::detached);
  Exhaust();
  asio::co_spawn(*io, Ask(1000, &state), asio::detached);
  io->poll_one();
  io->poll_one();
  clock_.Advance(seconds(1));
  limiter_->Pump();
  io.reset();
  EXPECT_EQ(Waiting(), 0U);
}

// Coroutines ask and give up on several threads, while limits, turns and refusals come from another.
TEST(AwaitAdmissionStress, SurvivesThreadsCancellationAndTheEndOfItsContext) {
  ScriptedMonitor monitor;
  monitor.Say([](LoadSample* sample) {
    sample->Add({.name = "l0",
                 .level = 0.85,
                 .bytes_per_level = 40e6,
                 .dead_time = seconds(1),
                 .drain_bytes_per_second = 50e6});
    return Status();
  });
  ASSERT_TRUE(monitor.SampleOnce().ok());
  AdaptiveLimiter limiter(monitor);
  limiter.Start();
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> completed = 0;
    asio::io_context io;
    for (int n = 0; n < 50; ++n) {
      auto strand = asio::make_strand(io);
      asio::co_spawn(
          strand,
          [&]() -> asio::awaitable<void> {
            using asio::experimental::awaitable_operators::operator||;
            for (int k = 0; k < 20; ++k) {
              asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(5));
              co_await (AwaitAdmission(limiter, Operation::kWrite, {20'000}) || timer.async_wait(asio::use_awaitable));
              // Stops in the middle, so that the context ends with waits pending.
              if (++completed == 300) io.stop();
            }
          },
          asio::detached);
    }
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { io.run(); });
    threads.clear();
    EXPECT_GE(completed, 300);
  }
  EXPECT_EQ(limiter.Stats(Operation::kWrite).waiting, 0U);
  limiter.Stop();
}

}  // namespace
}  // namespace weir
