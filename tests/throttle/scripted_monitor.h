// A monitor that says what the test wants it to say.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include "monitors/load_monitor.h"

namespace weir {

class ScriptedMonitor final : public LoadMonitor {
 public:
  explicit ScriptedMonitor(const Clock& clock = Clock::System()) : LoadMonitor({}, clock) {}
  ~ScriptedMonitor() override { Stop(); }

  // What the next samples say.
  void Say(std::function<Status(LoadSample*)> probe) {
    std::lock_guard lock(mutex_);
    probe_ = std::move(probe);
  }

  int flushes() const { return flushes_; }

 private:
  Status Probe(TimePoint, LoadSample* sample) override {
    std::function<Status(LoadSample*)> probe;
    {
      std::lock_guard lock(mutex_);
      probe = probe_;
    }
    return probe ? probe(sample) : Status();
  }

  Status Flush() override {
    ++flushes_;
    return Status();
  }

  std::mutex mutex_;
  std::function<Status(LoadSample*)> probe_;
  std::atomic<int> flushes_{0};
};

}  // namespace weir
