// HeldLimits: the limits that stay in force while the monitor has no fresh sample ("sensor lost"). Not thread-safe.
#pragma once

#include <string_view>

#include "throttle/scan_gate.h"
#include "throttle/write_gate.h"

namespace weir {

// The limits of both gates.
struct GateLimits {
  WriteLimits writes;
  ScanLimits scans;
};

class HeldLimits {
 public:
  static constexpr std::string_view kReason = "sensor lost";  // the reason of the held limits

  // Saves the limits of the last decision, without an emergency's hold and refusals. `rates` has, for each class of
  // writes, the bytes per second to which it is limited meanwhile (RateLaw::HeldLimit); 0: no limit.
  void Save(const GateLimits& last, const ByClass<double>& rates);

  // Returns the saved limits.
  GateLimits Held() const { return Named(held_); }
  // Returns, for writes of each class and for scans, the lower of the saved limit and the limit in `felt`. `felt` has
  // the limits for which the process's own signals call (LoadMonitor::ProcessSample). `emergency` is true if `felt` was
  // decided in an emergency; then its limit of scans applies in any case.
  GateLimits LowerOf(const GateLimits& felt, bool emergency) const;

 private:
  // Returns the limits, and sets in them what only LimiterView shows: WriteLimit::idle, and the reason of an open scan
  // gate.
  static GateLimits Named(GateLimits limits);

  GateLimits held_;
};

}  // namespace weir
