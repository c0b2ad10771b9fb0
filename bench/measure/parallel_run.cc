#include "bench/measure/parallel_run.h"

#include <barrier>
#include <thread>
#include <vector>

#include "bench/measure/own_cpu.h"

namespace weir {

LoadFigures ParallelRun::Figures() const {
  const auto n = static_cast<double>(count);
  return {{"rate", "M/s", n / seconds / 1e6}, {"CPU each", "ns", cpu_seconds * 1e9 / n}};
}

ParallelRun RunInParallel(int threads, Duration time,
                          const std::function<uint64_t(size_t thread, const std::atomic<bool>& stop)>& work) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> done{0};
  std::barrier begin(threads + 1);
  std::vector<std::thread> running;
  for (size_t thread = 0; thread < static_cast<size_t>(threads); ++thread) {
    running.emplace_back([&, thread] {
      begin.arrive_and_wait();
      done += work(thread, stop);
    });
  }
  begin.arrive_and_wait();
  const TimePoint from = Clock::System().Now();
  const Duration cpu_from = OwnProcessorTime();
  std::this_thread::sleep_for(time);
  stop = true;
  for (std::thread& thread : running) thread.join();
  return {.count = done.load(),
          .seconds = ToSeconds(Clock::System().Now() - from),
          .cpu_seconds = ToSeconds(OwnProcessorTime() - cpu_from)};
}

std::string ThreadsInWords(int threads) { return std::to_string(threads) + (threads == 1 ? " thread" : " threads"); }

}  // namespace weir
