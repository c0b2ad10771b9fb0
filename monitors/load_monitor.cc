#include "monitors/load_monitor.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "config/settings.h"
#include "monitors/memory_probe.h"

namespace weir {
namespace {

constexpr std::string_view kMemory = "memory";

// Rejects the whole sample if any number is not finite, because a stale half would look fresh.
Status CheckSample(const LoadSample& sample) {
  if (sample.has_too_many)
    return Status::Error("the probe gave more than " + std::to_string(kMaxSignals) + " signals (kMaxSignals)");
  std::string wrong = std::isfinite(sample.memory_pressure) ? "" : "memory pressure";
  for (const Signal& s : sample.signals()) {
    const bool finite = std::isfinite(s.level) && std::isfinite(s.waiting) && std::isfinite(s.bytes_per_level) &&
                        std::isfinite(s.drain_bytes_per_second);
    if (finite) continue;
    wrong += (wrong.empty() ? "" : ", ") + std::string(s.name);
  }
  return wrong.empty() ? Status() : Status::Error("the probe gave no finite number for: " + wrong);
}

template <typename Call>
Status WithoutThrowing(const std::string& told_as, const Call& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return Status::Error(told_as + ": " + e.what());
  } catch (...) {
    return Status::Error(told_as + " something that is no std::exception");
  }
}

// Calls `each` for every setting, with its name, the member that holds it, a pointer to it, its range and its meaning.
template <typename Settings, typename Each>
void ForEachSetting(Settings& s, const Each& each) {
  constexpr NumberRange kFraction{.min = 0, .max = 2, .unit = "fraction"};
  constexpr NumberRange kLatency{.min = 1, .max = 60'000, .unit = "ms"};
  each("MONITOR_INTERVAL_MS", "sample_interval", &s.sample_interval, {.min = 10, .max = 10'000, .unit = "ms"},
       "time between two samples of the engine's load");
  each("MONITOR_WRITE_MEMORY_THRESHOLD", "write_memory_threshold", &s.write_memory_threshold, kFraction,
       "memory use / target above which the monitor advises to slow writes");
  each("MONITOR_READ_MEMORY_THRESHOLD", "read_memory_threshold", &s.read_memory_threshold, kFraction,
       "memory use / target above which the monitor advises to slow reads");
  each("MONITOR_WRITE_LATENCY_THRESHOLD_MS", "write_latency_threshold", &s.write_latency_threshold, kLatency,
       "mean write latency above which the monitor advises to slow writes");
  each("MONITOR_READ_LATENCY_THRESHOLD_MS", "read_latency_threshold", &s.read_latency_threshold, kLatency,
       "mean read latency above which the monitor advises to slow reads");
}

}  // namespace

void Declare(SettingTable& table, MonitorSettings& settings) {
  ForEachSetting(settings, [&](const char* name, const char*, auto* variable, const NumberRange& range,
                               const char* meaning) { table.Add(name, variable, range, meaning); });
  for (const char* advice :
       {"WRITE_MEMORY_THRESHOLD", "READ_MEMORY_THRESHOLD", "WRITE_LATENCY_THRESHOLD_MS", "READ_LATENCY_THRESHOLD_MS"})
    table.ForEmbedding(std::string("MONITOR_") + advice);
}

Status Check(const MonitorSettings& settings) {
  Status checked;
  ForEachSetting(settings,
                 [&](const char*, const char* member, const auto* variable, const NumberRange& range, const char*) {
                   if (checked.ok()) checked = CheckRange(member, *variable, range);
                 });
  return checked;
}

LoadMonitor::LoadMonitor(std::unique_ptr<LoadProbe> probe, const MonitorSettings& settings, const Clock& clock)
    : probe_(std::move(probe)), settings_(settings), clock_(clock) {}

void LoadMonitor::Start() {
  if (birth_.IsForked()) return;
  const MutexLock lifecycle(lifecycle_mutex_);
  if (sampling_.joinable()) return;
  changes_ = std::jthread([this](const std::stop_token& stop) { RunChanges(stop); });
  sampling_ = std::jthread([this](const std::stop_token& stop) { RunSampling(stop); });
}

void LoadMonitor::Stop() {
  if (birth_.IsForked()) return LetGoOfParent();
  const MutexLock lifecycle(lifecycle_mutex_);
  sampling_ = std::jthread();
  changes_ = std::jthread();
}

// In a forked child the threads cannot be joined, nor detached: a thread of the child may have the same identity. So
// they are forgotten, without a call of the destructor. No lock is taken, because a thread of the parent may have held
// it. The condition that the parent's thread waits for is made anew, because its destructor would wait for that thread.
void LoadMonitor::LetGoOfParent() {
  new (&sampling_) std::jthread;
  new (&changes_) std::jthread;
  new (&due_) std::condition_variable_any;
}

// The interval follows the machine's clock, whichever clock stamps the samples: a manual clock that stands still must
// not stop the sampling.
void LoadMonitor::RunSampling(const std::stop_token& stop) {
  Mutex mutex;
  Condition stopped;
  // One for all waits: a std::condition_variable_any would make and destroy one for each.
  const std::stop_callback wakes(stop, [&] {
    const MutexLock lock(mutex);
    stopped.notify_one();
  });
  auto next = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    (void)TakeSample();  // LastError keeps the result
    if (MustChange()) {
      const MutexLock due(due_mutex_);
      change_is_due_ = true;
      due_.notify_one();
    }
    // A late sample must not cause a burst of samples.
    next = std::max(next + settings_.sample_interval, std::chrono::steady_clock::now());
    MutexLock lock(mutex);
    stopped.wait_until(lock, next, [&] { return stop.stop_requested(); });
  }
}

void LoadMonitor::RunChanges(const std::stop_token& stop) {
  MutexLock lock(due_mutex_);
  while (due_.wait(lock, stop, [this]() WEIR_REQUIRES(due_mutex_) { return change_is_due_; })) {
    change_is_due_ = false;
    lock.unlock();
    ChangeEngine();
    lock.lock();
  }
}

Status LoadMonitor::SampleOnce() {
  Status sampled = TakeSample();
  ChangeEngine();
  return sampled;
}

Status LoadMonitor::TakeSample() {
  const MutexLock probing(probe_mutex_);
  LoadSample sample;
  Status sampled = WithoutThrowing("the probe threw", [&] { return SampleProcess(&sample); });
  if (sampled.ok()) sampled = WithoutThrowing("the probe threw", [&] { return probe_->Probe(clock_.Now(), &sample); });
  if (sampled.ok()) sampled = CheckSample(sample);
  // The sample has the time of the answer, because a server may take long to answer.
  sample.time = clock_.Now();
  {
    const MutexLock lock(sample_mutex_);
    if (sampled.ok()) sample_ = sample;
    last_error_ = sampled;
  }
  if (sampled.ok() && sample.flush_due) flush_largest_asked_ = true;
  // This comes before the purge, because the pages of a shrunk cache stay with the allocator until then.
  if (const double share = cache_share_asked_.load(); share != cache_share_) {
    cache_share_ = share;
    (void)WithoutThrowing("threw", [&] {
      probe_->SetCacheShare(share);
      return Status();
    });
  }
  if (release_asked_.exchange(false)) PurgeAllocator();
  return sampled;
}

bool LoadMonitor::MustChange() const { return flush_asked_ || flush_largest_asked_ || probe_->MustAdjust(); }

void LoadMonitor::ChangeEngine() {
  if (!MustChange()) return;
  const MutexLock changing(change_mutex_);
  if (probe_->MustAdjust()) {
    (void)WithoutThrowing("threw", [&] {
      probe_->Adjust();
      return Status();
    });
  }
  const bool flush_largest = flush_largest_asked_.exchange(false);
  const bool flush_all = flush_asked_.exchange(false);
  if (!flush_all && !flush_largest) return;
  const Status flushed = WithoutThrowing("threw", [&] { return flush_all ? probe_->Flush() : probe_->FlushLargest(); });
  const MutexLock lock(sample_mutex_);
  if (!flushed.ok() && last_error_.ok()) last_error_ = Status::Error("flush: " + flushed.message());
}

// Publishes the process's sample at once, because the engine may take long to answer.
Status LoadMonitor::SampleProcess(LoadSample* sample) {
  Status sampled = probe_->ProbeProcess(sample);
  if (sampled.ok()) sampled = CheckSample(*sample);
  if (!sampled.ok() || sample->signal_count == 0) return sampled;
  const MutexLock lock(sample_mutex_);
  process_sample_ = *sample;
  process_sample_.time = clock_.Now();
  return sampled;
}

LoadSample LoadMonitor::ProcessSample() const {
  const MutexLock lock(sample_mutex_);
  return process_sample_;
}

LoadSample LoadMonitor::Sample() const {
  const MutexLock lock(sample_mutex_);
  return sample_;
}

Status LoadMonitor::LastError() const {
  const MutexLock lock(sample_mutex_);
  return last_error_;
}

double LoadMonitor::LoadLevel() const {
  double highest = 0;
  const LoadSample sample = Sample();
  for (const Signal& signal : sample.signals()) {
    if (signal.name != kMemory) highest = std::max(highest, signal.judged());
  }
  return highest;
}

double LoadMonitor::MemoryPressure() const {
  const MutexLock lock(sample_mutex_);
  return sample_.memory_pressure;
}

bool LoadMonitor::ShouldThrottleWrites() const {
  const LoadSample sample = Sample();
  return sample.memory_pressure > settings_.write_memory_threshold ||
         WriteLatency() > settings_.write_latency_threshold || probe_->AdvisesToThrottleWrites(sample);
}

bool LoadMonitor::ShouldThrottleReads() const {
  const LoadSample sample = Sample();
  return sample.memory_pressure > settings_.read_memory_threshold || ReadLatency() > settings_.read_latency_threshold ||
         probe_->AdvisesToThrottleReads(sample);
}

// The delay is 0 up to half load and 100 ms at 1.0, doubles every third of a level above, and is at most 1 s. A memory
// pressure of 0.7 counts like a load of 0.5, and 1.0 like 1.0.
Duration LoadMonitor::RecommendedWriteDelay() const {
  const double from_memory = 0.5 + (MemoryPressure() - 0.7) / (1.0 - 0.7) * 0.5;
  const double drive = std::max(LoadLevel(), from_memory);
  if (drive <= 0.5) return Duration::zero();
  const double delay_s = drive < 1.0 ? (drive - 0.5) * 0.2 : 0.1 * std::exp2(3 * (drive - 1.0));
  return FromSeconds(std::min(delay_s, 1.0));
}

// The delay is 0 up to a mean of 50 ms, then the excess over it, at most 200 ms.
Duration LoadMonitor::RecommendedReadDelay() const {
  constexpr Duration kUsual = std::chrono::milliseconds(50);
  constexpr Duration kLongest = std::chrono::milliseconds(200);
  return std::clamp(ReadLatency() - kUsual, Duration::zero(), kLongest);
}

}  // namespace weir
