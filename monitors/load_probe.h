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

  // Add thresholds of the engine's own to LoadMonitor's advice, by the last good sample. Called from any thread.
  virtual bool AdvisesToThrottleWrites(const LoadSample&) const { return false; }
  virtual bool AdvisesToThrottleReads(const LoadSample&) const { return false; }
};

}  // namespace weir
