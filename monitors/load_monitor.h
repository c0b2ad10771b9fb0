// LoadMonitor: what the throttle asks about a storage engine. A backend derives from it and implements Probe (and
// Flush, where the engine has one); this class owns the sampling thread, the last good sample, the latency windows and
// the thresholds.
//
//   class MyMonitor final : public LoadMonitor {
//    public:
//     ~MyMonitor() override { Stop(); }   // before the members that Probe reads are gone
//    private:
//     Status Probe(TimePoint now, LoadSample* sample) override;
//   };
//
// Threads: every public function may be called from any thread. Probe and Flush are called by one thread at a time, the
// sampling thread once Start was called. A Probe that fails, throws or hangs leaves the last good sample standing; its
// age says so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "config/clock.h"
#include "config/status.h"
#include "monitors/latency_window.h"
#include "monitors/load_sample.h"

namespace weir {

class SettingTable;

struct MonitorSettings {
  std::chrono::milliseconds sample_interval{100};
  // Advice of ShouldThrottle…; the controllers do not use it.
  double write_memory_threshold = 0.90;
  double read_memory_threshold = 0.95;
  std::chrono::milliseconds write_latency_threshold{50};
  std::chrono::milliseconds read_latency_threshold{100};
};
void Declare(SettingTable& table, MonitorSettings& settings);

class LoadMonitor {
 public:
  explicit LoadMonitor(MonitorSettings settings = {}, const Clock& clock = Clock::System());
  // A derived class must have called Stop(); ending with a running sampling thread aborts with a message.
  virtual ~LoadMonitor();
  LoadMonitor(const LoadMonitor&) = delete;
  LoadMonitor& operator=(const LoadMonitor&) = delete;

  // Takes samples in a thread of its own: the first at once, then one each interval. Both are idempotent, in any order,
  // and a stopped monitor can be started again. Stop returns at once, or when a Probe that is running has returned.
  void Start();
  void Stop();

  // Takes one sample now, in this thread: what the sampling thread does, for programs and tests that have their own
  // beat. Performs a flush that was asked for. Returns why the sample was no good, if it was not.
  Status SampleOnce();

  // The last good sample; sample.time is TimePoint{} before the first. One with a number that is not finite is not
  // good.
  LoadSample Sample() const;
  // Why the newest attempt failed; success while sampling works.
  Status LastError() const;

  Duration sample_interval() const { return settings_.sample_interval; }

  double LoadLevel() const;       // highest level of all signals but memory
  double MemoryPressure() const;  // used / target
  Duration ReadLatency() const;   // means of the recent windows
  Duration WriteLatency() const;
  const LatencyWindow& read_latencies() const { return read_latencies_; }
  const LatencyWindow& write_latencies() const { return write_latencies_; }
  void RecordReadLatency(Duration d) { read_latencies_.Record(d); }
  void RecordWriteLatency(Duration d) { write_latencies_.Record(d); }

  // Advice for a program that uses the monitor without a limiter. A backend may add its own thresholds.
  virtual bool ShouldThrottleWrites() const;
  virtual bool ShouldThrottleReads() const;
  Duration RecommendedWriteDelay() const;
  Duration RecommendedReadDelay() const;

  // Asks for a flush; the sampling thread performs it after its next sample, so no caller waits for the engine.
  void ForceFlush();
  // Asks the allocator to give free memory back, in the same way.
  void ReleaseMemory();

 protected:
  // Fills the sample but for its time. Not called concurrently with itself or Flush.
  virtual Status Probe(TimePoint now, LoadSample* sample) = 0;
  virtual Status Flush() { return Status(); }

  const MonitorSettings& settings() const { return settings_; }
  const Clock& clock() const { return clock_; }

 private:
  void Run();
  Status ProbeSafely(TimePoint now, LoadSample* sample);
  Status FlushIfAsked();

  const MonitorSettings settings_;
  const Clock& clock_;
  LatencyWindow read_latencies_;
  LatencyWindow write_latencies_;

  mutable std::mutex sample_mutex_;  // for the two below; never held while Probe or Flush runs
  LoadSample sample_;
  Status last_error_;

  std::mutex probe_mutex_;  // held while Probe or Flush runs
  std::atomic<bool> flush_asked_{false};
  std::atomic<bool> release_asked_{false};

  std::mutex lifecycle_mutex_;  // one Start or Stop at a time
  std::thread thread_;
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
};

}  // namespace weir
