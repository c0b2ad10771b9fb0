// LoadProbe: what asks one storage engine how it feels. A LoadMonitor owns it, runs it, and keeps what it says.
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

  // What the process feels without the engine (memory, own): a sample of its own for where the engine does not answer,
  // and where Probe begins. Without signals: nothing is known without the engine.
  virtual Status ProbeProcess(LoadSample*) { return Status(); }
  // Fills the sample but for its time. Of these and the two below one is called at a time.
  virtual Status Probe(TimePoint now, LoadSample* sample) = 0;
  // Where the engine has something to flush.
  virtual Status Flush() { return Status(); }
  // Where the engine has a cache: it may have that share of its full size.
  virtual void SetCacheShare(double /*share*/) {}

  // Thresholds of the engine's own for LoadMonitor's advice, by the last good sample. Called from any thread.
  virtual bool AdvisesToThrottleWrites(const LoadSample&) const { return false; }
  virtual bool AdvisesToThrottleReads(const LoadSample&) const { return false; }
};

}  // namespace weir
