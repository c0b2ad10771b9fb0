// ScriptedMonitor: a monitor whose samples come from the test.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include "monitors/load_monitor.h"

namespace weir {

class ScriptedProbe final : public LoadProbe {
 public:
  void Say(std::function<Status(LoadSample*)> probe) {
    std::lock_guard lock(mutex_);
    probe_ = std::move(probe);
  }

  void SayOfProcess(std::function<Status(LoadSample*)> probe) {
    std::lock_guard lock(mutex_);
    process_probe_ = std::move(probe);
  }

  Status ProbeProcess(LoadSample* sample) override { return Run(process_probe_, sample); }
  Status Probe(TimePoint, LoadSample* sample) override { return Run(probe_, sample); }
  Status Flush() override {
    ++flushes_;
    return Status();
  }

  Status FlushLargest() override {
    ++flushes_of_largest_;
    return Status();
  }

  void SetCacheShare(double share) override { cache_share_ = share; }

  int flushes() const { return flushes_; }
  int flushes_of_largest() const { return flushes_of_largest_; }
  double cache_share() const { return cache_share_; }

 private:
  Status Run(const std::function<Status(LoadSample*)>& member, LoadSample* sample) {
    std::function<Status(LoadSample*)> probe;
    {
      std::lock_guard lock(mutex_);
      probe = member;
    }
    return probe ? probe(sample) : Status();
  }

  std::mutex mutex_;
  std::function<Status(LoadSample*)> probe_;
  std::function<Status(LoadSample*)> process_probe_;
  std::atomic<int> flushes_{0};
  std::atomic<int> flushes_of_largest_{0};
  std::atomic<double> cache_share_{1};
};

class ScriptedMonitor final : public LoadMonitor {
 public:
  explicit ScriptedMonitor(const Clock& clock = Clock::System(), const MonitorSettings& settings = {})
      : LoadMonitor(std::make_unique<ScriptedProbe>(), settings, clock) {}

  // Sets the function that fills the next samples.
  void Say(std::function<Status(LoadSample*)> probe) { scripted_.Say(std::move(probe)); }
  // Sets the function that adds the process's own signals, even while the engine does not answer.
  void SayOfProcess(std::function<Status(LoadSample*)> probe) { scripted_.SayOfProcess(std::move(probe)); }
  int flushes() const { return scripted_.flushes(); }
  int flushes_of_largest() const { return scripted_.flushes_of_largest(); }
  double cache_share() const { return scripted_.cache_share(); }

 private:
  ScriptedProbe& scripted_ = static_cast<ScriptedProbe&>(probe());
};

}  // namespace weir
