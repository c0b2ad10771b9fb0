#include "monitors/load_monitor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "config/settings.h"
#include "monitors/memory_probe.h"

namespace weir {
namespace {

constexpr std::string_view kMemory = "memory";

// A sample with a number that is none is no measurement, whole: else a stale half would look fresh.
Status CheckFinite(const LoadSample& sample) {
  std::string wrong = std::isfinite(sample.memory_pressure) ? "" : "memory pressure";
  for (const Signal& s : sample.signals()) {
    if (std::isfinite(s.level) && std::isfinite(s.bytes_per_level) && std::isfinite(s.drain_bytes_per_second)) continue;
    wrong += (wrong.empty() ? "" : ", ") + std::string(s.name);
  }
  return wrong.empty() ? Status() : Status::Error("the probe gave no finite number for: " + wrong);
}

}  // namespace

void Declare(SettingTable& table, MonitorSettings& s) {
  table.Add("MONITOR_INTERVAL_MS", &s.sample_interval, {.min = 10, .max = 10'000, .unit = "ms"},
            "time between two samples of the engine's load");
  table.Add("MONITOR_WRITE_MEMORY_THRESHOLD", &s.write_memory_threshold, {.min = 0, .max = 2, .unit = "fraction"},
            "memory use / target above which the monitor advises to slow writes");
  table.Add("MONITOR_READ_MEMORY_THRESHOLD", &s.read_memory_threshold, {.min = 0, .max = 2, .unit = "fraction"},
            "memory use / target above which the monitor advises to slow reads");
  table.Add("MONITOR_WRITE_LATENCY_THRESHOLD_MS", &s.write_latency_threshold, {.min = 1, .max = 60'000, .unit = "ms"},
            "mean write latency above which the monitor advises to slow writes");
  table.Add("MONITOR_READ_LATENCY_THRESHOLD_MS", &s.read_latency_threshold, {.min = 1, .max = 60'000, .unit = "ms"},
            "mean read latency above which the monitor advises to slow reads");
}

LoadMonitor::LoadMonitor(MonitorSettings settings, const Clock& clock) : settings_(settings), clock_(clock) {}

LoadMonitor::~LoadMonitor() {
  if (!thread_.joinable()) return;
  // Its next Probe would be a call of a pure virtual function, at a time of its choosing.
  std::fputs("weir: a LoadMonitor ended while sampling; its destructor must call Stop()\n", stderr);
  std::abort();
}

void LoadMonitor::Start() {
  std::lock_guard lifecycle(lifecycle_mutex_);
  if (thread_.joinable()) return;
  stopping_ = false;
  thread_ = std::thread([this] { Run(); });
}

void LoadMonitor::Stop() {
  std::lock_guard lifecycle(lifecycle_mutex_);
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(wake_mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  thread_ = std::thread();
}

// The beat is the machine's, whatever clock stamps the samples: a clock that stands still must not stop the sampling.
void LoadMonitor::Run() {
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(wake_mutex_);
  while (!stopping_) {
    lock.unlock();
    (void)SampleOnce();  // LastError has it
    lock.lock();
    // A late sample does not bring a burst of them.
    next = std::max(next + settings_.sample_interval, std::chrono::steady_clock::now());
    wake_.wait_until(lock, next, [this] { return stopping_; });
  }
}

Status LoadMonitor::SampleOnce() {
  std::lock_guard probing(probe_mutex_);
  LoadSample sample;
  const TimePoint now = clock_.Now();
  Status sampled = ProbeSafely(now, &sample);
  if (sampled.ok()) sampled = CheckFinite(sample);
  sample.time = now;
  {
    std::lock_guard lock(sample_mutex_);
    if (sampled.ok()) sample_ = sample;
    last_error_ = sampled;
  }
  if (const Status flushed = FlushIfAsked(); !flushed.ok() && sampled.ok()) {
    std::lock_guard lock(sample_mutex_);
    last_error_ = Status::Error("flush: " + flushed.message());
  }
  if (release_asked_.exchange(false)) PurgeAllocator();
  return sampled;
}

Status LoadMonitor::ProbeSafely(TimePoint now, LoadSample* sample) {
  try {
    return Probe(now, sample);
  } catch (const std::exception& e) {
    return Status::Error(std::string("the probe threw: ") + e.what());
  } catch (...) {
    return Status::Error("the probe threw something that is no std::exception");
  }
}

Status LoadMonitor::FlushIfAsked() {
  if (!flush_asked_.exchange(false)) return Status();
  try {
    return Flush();
  } catch (const std::exception& e) {
    return Status::Error(std::string("threw: ") + e.what());
  } catch (...) {
    return Status::Error("threw something that is no std::exception");
  }
}

LoadSample LoadMonitor::Sample() const {
  std::lock_guard lock(sample_mutex_);
  return sample_;
}

Status LoadMonitor::LastError() const {
  std::lock_guard lock(sample_mutex_);
  return last_error_;
}

double LoadMonitor::LoadLevel() const {
  double highest = 0;
  const LoadSample sample = Sample();
  for (const Signal& signal : sample.signals()) {
    if (signal.name != kMemory) highest = std::max(highest, signal.level);
  }
  return highest;
}

double LoadMonitor::MemoryPressure() const {
  std::lock_guard lock(sample_mutex_);
  return sample_.memory_pressure;
}

Duration LoadMonitor::ReadLatency() const { return read_latencies_.Mean(); }
Duration LoadMonitor::WriteLatency() const { return write_latencies_.Mean(); }

bool LoadMonitor::ShouldThrottleWrites() const {
  return MemoryPressure() > settings_.write_memory_threshold || WriteLatency() > settings_.write_latency_threshold;
}

bool LoadMonitor::ShouldThrottleReads() const {
  return MemoryPressure() > settings_.read_memory_threshold || ReadLatency() > settings_.read_latency_threshold;
}

// 0 at half load, 100 ms at 1.0, doubling every third of a level above, at most 1 s. Memory counts from 0.7 as load
// does from 0.5.
Duration LoadMonitor::RecommendedWriteDelay() const {
  const double from_memory = 0.5 + (MemoryPressure() - 0.7) / (1.0 - 0.7) * 0.5;
  const double drive = std::max(LoadLevel(), from_memory);
  if (drive <= 0.5) return Duration::zero();
  const double delay_s = drive < 1.0 ? (drive - 0.5) * 0.2 : 0.1 * std::exp2(3 * (drive - 1.0));
  return FromSeconds(std::min(delay_s, 1.0));
}

// 0 up to a mean of 50 ms, then what is above it, at most 200 ms.
Duration LoadMonitor::RecommendedReadDelay() const {
  constexpr Duration kUsual = std::chrono::milliseconds(50);
  constexpr Duration kLongest = std::chrono::milliseconds(200);
  return std::clamp(ReadLatency() - kUsual, Duration::zero(), kLongest);
}

void LoadMonitor::ForceFlush() { flush_asked_.store(true); }
void LoadMonitor::ReleaseMemory() { release_asked_.store(true); }

}  // namespace weir
