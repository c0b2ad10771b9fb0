// LoadProbe: the interface by which a LoadMonitor (load_monitor.h) measures the load of one storage engine. The monitor
// owns the probe, calls it, and keeps its samples.
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

  // The monitor calls at most one of the next three functions at a time.
  // ProbeProcess adds the signals that are known without the engine, such as memory, to an empty sample. The monitor
  // keeps them while the engine does not answer, and passes the same sample to Probe. If nothing is known without the
  // engine, ProbeProcess adds nothing and Probe adds all signals. After an error of ProbeProcess, the monitor does not
  // call Probe.
  virtual Status ProbeProcess(LoadSample*) { return Status(); }
  // Probe adds the engine's signals and figures; the monitor sets the sample's time. After an error of Probe, the
  // previous sample stays the last good one; only the signals of ProbeProcess are new.
  virtual Status Probe(TimePoint now, LoadSample* sample) = 0;
  // SetCacheShare gives the engine's cache, if it has one, the share `share` (0 to 1) of its full size. The probe may
  // give the cache more, for example as much as is in use.
  virtual void SetCacheShare(double /*share*/) {}

  // The next three change the engine, and so may have to wait for its writers. The monitor calls at most one of them at
  // a time, and takes samples meanwhile, so they must hold no lock that Probe needs while they wait.
  // Flush starts a flush, if the engine has something to flush, and does not wait for its end.
  virtual Status Flush() { return Status(); }
  // FlushLargest flushes only what frees the most memory. It must not wait for writers that the engine has stopped.
  virtual Status FlushLargest() { return Flush(); }
  // Adjust changes the engine as the last sample demands. The monitor calls it only if MustAdjust returns true after a
  // sample. Any thread may call MustAdjust.
  virtual void Adjust() {}
  virtual bool MustAdjust() const { return false; }

  // These two return true if, according to the last good sample, writes or reads should be throttled because of the
  // engine's state. LoadMonitor also advises throttling if memory or latency exceeds thresholds of its own. By default
  // they return true if a signal that limits this kind of work is above 1.0. Any thread may call these two, even while
  // another function runs.
  virtual bool AdvisesToThrottleWrites(const LoadSample& sample) const {
    return sample.IsAbove(1, &Signal::acts_on_writes);
  }
  virtual bool AdvisesToThrottleReads(const LoadSample& sample) const {
    return sample.IsAbove(1, &Signal::acts_on_reads);
  }
};

}  // namespace weir
