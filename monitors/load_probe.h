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

  // Fills the sample but for its time. Neither this nor Flush is called while the other runs.
  virtual Status Probe(TimePoint now, LoadSample* sample) = 0;
  // Where the engine has something to flush.
  virtual Status Flush() { return Status(); }

  // Thresholds of the engine's own for LoadMonitor's advice, by the last good sample. Called from any thread.
  virtual bool AdvisesToThrottleWrites(const LoadSample&) const { return false; }
  virtual bool AdvisesToThrottleReads(const LoadSample&) const { return false; }
};

}  // namespace weir
