// HostedThrottle: the throttle of a RocksDB that the program of weir.h reads for it: a PropertyMonitor and an
// AdaptiveLimiter.
//
// Threads: every function may be called from any thread, but Detach not from the program's functions. The program must
// hold a pointer to it while it has an Admission of it.
#pragma once

#include <memory>
#include <string>

#include "config/birth_process.h"
#include "config/mutex.h"
#include "monitors/rocksdb_text/property_monitor.h"
#include "throttle/adaptive_limiter.h"
#include "throttle/c/attach_setup.h"

namespace weir {

class HostedThrottle {
 public:
  // Returns an error as weir_attach describes.
  static Result<std::shared_ptr<HostedThrottle>> Attach(const AttachSetup& setup, PropertyReader reader);
  ~HostedThrottle();

  Admission Admit(Operation operation, Cost cost, Party party) { return limiter_.Admit(operation, cost, party); }
  Status Sample();
  std::string View() const;  // a JSON object
  void Detach();

 private:
  HostedThrottle(std::unique_ptr<PropertyMonitor> monitor, const LimiterSettings& settings)
      : monitor_(std::move(monitor)), limiter_(*monitor_, settings) {}

  const BirthProcess birth_;
  Mutex lifecycle_mutex_;  // one Detach at a time
  bool detached_ WEIR_GUARDED_BY(lifecycle_mutex_) = false;
  std::string directory_;  // has the database, by its canonical name; empty: not known
  const std::unique_ptr<PropertyMonitor> monitor_;
  AdaptiveLimiter limiter_;
};

}  // namespace weir
