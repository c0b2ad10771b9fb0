// LoadProbe: measures the load of one storage engine. A LoadMonitor owns it, runs it, and keeps its samples.
//
//   class MyProbe final : public LoadProbe {
//     Status Probe(TimePoint now, LoadSample* sample) override;
//   };
//   LoadMonitor monitor(std::make_unique<MyProbe>(engine));
#pragma once

#include "config/clock.h"
#include "config/status.h"
#include "monitors/load_sample.h"

namespace weir {

class LoadProbe {
 public:
  virtual ~LoadProbe() = default;

  // Adds the signals that are known without the engine (memory, own). They are a sample of their own while the engine
  // does not answer, and Probe adds to them. Adds none if nothing is known without the engine.
  virtual Status ProbeProcess(LoadSample*) { return Status(); }
  // Fills the sample except for its time. Only one of these two functions and the two below is called at a time.
  virtual Status Probe(TimePoint now, LoadSample* sample) = 0;
  // Starts a flush, if the engine has something to flush.
  virtual Status Flush() { return Status(); }
  // Lets the engine's cache, if it has one, have that share of its full size.
  virtual void SetCacheShare(double /*share*/) {}

  // Say by the last good sample whether the engine itself needs that, beside the thresholds of LoadMonitor's advice. By
  // default it does if a signal that acts on such work is above 1.0. Called from any thread.
  virtual bool AdvisesToThrottleWrites(const LoadSample& sample) const {
    return sample.IsAbove(1, &Signal::acts_on_writes);
  }
  virtual bool AdvisesToThrottleReads(const LoadSample& sample) const {
    return sample.IsAbove(1, &Signal::acts_on_reads);
  }
};

}  // namespace weir
