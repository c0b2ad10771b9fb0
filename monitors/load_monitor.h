// LoadMonitor: measures the load of a storage engine for the throttle. It runs the engine's probe (load_probe.h) in a
// thread, and keeps the last good sample and the latencies that the program records. For programs without a limiter, it
// can say whether the program should throttle its work.
//
// Threads: every function may be called from any thread. One thread at a time calls the probe's sampling functions: the
// sampling thread, or the caller of SampleOnce. If the probe fails, throws or hangs, Sample continues to return the
// last good sample, whose time shows its age. A second thread makes the probe change the engine (flushes), because such
// a change may have to wait for writers that the engine delays; samples are taken meanwhile.
//
// Fork: in a child process that fork() made, these threads do not exist. There Start and Stop start and end
// nothing, and the destructor returns.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <thread>

#include "config/birth_process.h"
#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "monitors/latency_window.h"
#include "monitors/load_probe.h"

namespace weir {

class SettingTable;

struct MonitorSettings {
  std::chrono::milliseconds sample_interval{100};
  // Thresholds for ShouldThrottleWrites and ShouldThrottleReads; the limiter does not use them.
  double write_memory_threshold = 0.90;
  double read_memory_threshold = 0.95;
  std::chrono::milliseconds write_latency_threshold{50};
  std::chrono::milliseconds read_latency_threshold{100};
};
void Declare(SettingTable& table, MonitorSettings& settings);
// Returns an error that names the first member that is not within the range of its setting. A program that does not
// read its settings from the environment may have set any value.
Status Check(const MonitorSettings& settings);

class LoadMonitor {
 public:
  explicit LoadMonitor(std::unique_ptr<LoadProbe> probe, const MonitorSettings& settings = {},
                       const Clock& clock = Clock::System());
  virtual ~LoadMonitor() { Stop(); }
  LoadMonitor(const LoadMonitor&) = delete;
  LoadMonitor& operator=(const LoadMonitor&) = delete;

  // Start takes samples in a thread of its own: the first at once, then one each interval. Stop ends the threads; if a
  // probe or a change of the engine is running, Stop waits until it returns. Both functions may be called again and in
  // any order; a stopped monitor can be started again.
  void Start();
  void Stop();

  // Takes one sample now, then performs a flush that the sample says is due, and the requests of ForceFlush,
  // FlushLargest, SetCacheShare and ReleaseMemory, all in the calling thread. It is for programs and tests that choose
  // the times themselves. Returns an error if the sample was not good. The error of a flush is only in LastError, until
  // the next sample.
  Status SampleOnce();

  // Returns the last good sample; before the first one, a sample without a time. A sample with a number that is not
  // finite, or with more than kMaxSignals signals, is not good.
  LoadSample Sample() const;
  // Returns the signals that are known without the engine, such as memory. They are sampled even while the engine does
  // not answer. The sample has no time if the probe does not sample these signals separately (LoadProbe::ProbeProcess).
  LoadSample ProcessSample() const;
  // Returns the error of the newest sample, or else of the flush after it; success if there was none.
  Status LastError() const;

  Duration sample_interval() const { return settings_.sample_interval; }
  const Clock& clock() const { return clock_; }  // stamps the samples

  double LoadLevel() const;                                        // highest Signal::judged of all signals but memory
  double MemoryPressure() const;                                   // used memory / target
  Duration ReadLatency() const { return read_latencies_.Mean(); }  // mean of the latest latencies; 0 if there are none
  Duration WriteLatency() const { return write_latencies_.Mean(); }
  const LatencyWindow& read_latencies() const { return read_latencies_; }
  const LatencyWindow& write_latencies() const { return write_latencies_; }
  void RecordReadLatency(Duration d) { read_latencies_.Record(d); }
  void RecordWriteLatency(Duration d) { write_latencies_.Record(d); }

  // Advice for a program that uses the monitor without a limiter (throttle/adaptive_limiter.h). The first two functions
  // compare the last good sample and the mean latency with MonitorSettings, and ask the probe. The delays are for each
  // operation; 0 means no delay. That of writes follows the last good sample, that of reads the mean read latency.
  bool ShouldThrottleWrites() const;
  bool ShouldThrottleReads() const;
  Duration RecommendedWriteDelay() const;
  Duration RecommendedReadDelay() const;

  // These four functions only store a request. It is carried out after the next sample, so the caller does not wait for
  // the engine. ForceFlush requests a flush of the engine.
  void ForceFlush() { flush_asked_.store(true); }
  // FlushLargest requests a flush of the engine's largest write buffers only.
  void FlushLargest() { flush_largest_asked_.store(true); }
  // ReleaseMemory requests that the allocator returns free memory to the system.
  void ReleaseMemory() { release_asked_.store(true); }
  // SetCacheShare requests that the engine's cache takes the share `share` (0 to 1) of its full size.
  void SetCacheShare(double share) { cache_share_asked_.store(share); }

 protected:
  LoadProbe& probe() { return *probe_; }

 private:
  void RunSampling(const std::stop_token& stop);
  void RunChanges(const std::stop_token& stop);
  Status TakeSample();
  bool MustChange() const;
  void ChangeEngine();
  void LetGoOfParent() WEIR_UNCHECKED_LOCKS;
  Status SampleProcess(LoadSample* sample);

  const std::unique_ptr<LoadProbe> probe_;
  const MonitorSettings settings_;
  const Clock& clock_;
  LatencyWindow read_latencies_;
  LatencyWindow write_latencies_;

  mutable Mutex sample_mutex_;  // never held while the probe runs
  LoadSample sample_ WEIR_GUARDED_BY(sample_mutex_);
  LoadSample process_sample_ WEIR_GUARDED_BY(sample_mutex_);
  Status last_error_ WEIR_GUARDED_BY(sample_mutex_);

  Mutex probe_mutex_;   // held while the probe takes a sample
  Mutex change_mutex_;  // held while the probe changes the engine
  std::atomic<bool> flush_asked_{false};
  std::atomic<bool> flush_largest_asked_{false};
  std::atomic<bool> release_asked_{false};
  std::atomic<double> cache_share_asked_{1};
  double cache_share_ WEIR_GUARDED_BY(probe_mutex_) = 1;  // the share that the probe got last

  const BirthProcess birth_;
  Mutex due_mutex_;
  std::condition_variable_any due_;
  bool change_is_due_ WEIR_GUARDED_BY(due_mutex_) = false;

  Mutex lifecycle_mutex_;  // one Start or Stop at a time
  std::jthread sampling_ WEIR_GUARDED_BY(lifecycle_mutex_);
  std::jthread changes_ WEIR_GUARDED_BY(lifecycle_mutex_);
};

}  // namespace weir
