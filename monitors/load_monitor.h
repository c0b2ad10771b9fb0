// LoadMonitor: tells the throttle the load of a storage engine. It runs the engine's probe (load_probe.h) in a thread
// and keeps the last good sample, the latencies that the program records, and the thresholds for advice.
//
// Threads: every function may be called from any thread. The probe is called by one thread at a time; after Start that
// is the sampling thread. A probe that fails, throws or hangs leaves the last good sample standing; its age shows it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "config/clock.h"
#include "config/status.h"
#include "monitors/latency_window.h"
#include "monitors/load_probe.h"

namespace weir {

class SettingTable;

struct MonitorSettings {
  std::chrono::milliseconds sample_interval{100};
  // Thresholds of the advice of ShouldThrottle…; the controllers do not use them.
  double write_memory_threshold = 0.90;
  double read_memory_threshold = 0.95;
  std::chrono::milliseconds write_latency_threshold{50};
  std::chrono::milliseconds read_latency_threshold{100};
};
void Declare(SettingTable& table, MonitorSettings& settings);

class LoadMonitor {
 public:
  explicit LoadMonitor(std::unique_ptr<LoadProbe> probe, const MonitorSettings& settings = {},
                       const Clock& clock = Clock::System());
  virtual ~LoadMonitor() { Stop(); }
  LoadMonitor(const LoadMonitor&) = delete;
  LoadMonitor& operator=(const LoadMonitor&) = delete;

  // Start takes samples in a thread of its own: the first at once, then one each interval. Both functions are
  // idempotent and may be called in any order; a stopped monitor can be started again. Stop returns at once, or when a
  // probe that is running has returned.
  void Start();
  void Stop();

  // Takes one sample now, in the calling thread, as the sampling thread does: for programs and tests with a beat of
  // their own. Then does what ForceFlush, SetCacheShare and ReleaseMemory asked for. Returns an error if the sample was
  // no good.
  Status SampleOnce();

  // Returns the last good sample; before the first, one without a time. A sample with a number that is not finite, or
  // with more signals than fit, is not good.
  LoadSample Sample() const;
  // Returns the load of the process without the engine, which is known even while the engine does not answer. It has no
  // time if the probe does not tell the two apart.
  LoadSample ProcessSample() const;
  // Returns why the newest attempt failed; success while sampling works.
  Status LastError() const;

  Duration sample_interval() const { return settings_.sample_interval; }
  const Clock& clock() const { return clock_; }  // stamps the samples

  double LoadLevel() const;                                        // highest judged level of all signals but memory
  double MemoryPressure() const;                                   // used / target
  Duration ReadLatency() const { return read_latencies_.Mean(); }  // mean of the recent ones
  Duration WriteLatency() const { return write_latencies_.Mean(); }
  const LatencyWindow& read_latencies() const { return read_latencies_; }
  const LatencyWindow& write_latencies() const { return write_latencies_; }
  void RecordReadLatency(Duration d) { read_latencies_.Record(d); }
  void RecordWriteLatency(Duration d) { write_latencies_.Record(d); }

  // Advice for a program that uses the monitor without a limiter.
  bool ShouldThrottleWrites() const;
  bool ShouldThrottleReads() const;
  Duration RecommendedWriteDelay() const;
  Duration RecommendedReadDelay() const;

  // Asks for a flush; the sampling thread performs it after its next sample, so no caller waits for the engine.
  void ForceFlush() { flush_asked_.store(true); }
  // Asks the allocator to give free memory back, in the same way.
  void ReleaseMemory() { release_asked_.store(true); }
  // Asks the engine, in the same way, to shrink its cache to a share of its full size, or to let it grow again.
  void SetCacheShare(double share) { cache_share_asked_.store(share); }

 protected:
  LoadProbe& probe() { return *probe_; }

 private:
  void Run(const std::stop_token& stop);
  Status SampleProcess(LoadSample* sample);

  const std::unique_ptr<LoadProbe> probe_;
  const MonitorSettings settings_;
  const Clock& clock_;
  LatencyWindow read_latencies_;
  LatencyWindow write_latencies_;

  mutable std::mutex sample_mutex_;  // protects the three below; never held while the probe runs
  LoadSample sample_;
  LoadSample process_sample_;
  Status last_error_;

  std::mutex probe_mutex_;  // held while the probe runs
  std::atomic<bool> flush_asked_{false};
  std::atomic<bool> release_asked_{false};
  std::atomic<double> cache_share_asked_{1};
  double cache_share_ = 1;  // last told to the probe; protected by probe_mutex_

  std::mutex lifecycle_mutex_;  // one Start or Stop at a time
  std::jthread thread_;
};

}  // namespace weir
