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

  // Saves the limits of the last decision, without an emergency's hold and refusals. `rates` are the limits of writes
  // to hold, in bytes per second (RateLaw::HeldLimit); 0 means that there is no limit to hold.
  void Save(const GateLimits& last, const ByClass<double>& rates);

  // Returns the saved limits.
  GateLimits Held() const { return Named(held_); }
  // Returns, for writes of each class and for scans, the lower one of the saved limit and `felt`, the limit for which
  // the process's own signals call. `emergency` says whether `felt` was decided in an emergency.
  GateLimits LowerOf(const GateLimits& felt, bool emergency) const;

 private:
  // Returns the limits with what LimiterView shows: which are idle, and the reason for scans.
  static GateLimits Named(GateLimits limits);

  GateLimits held_;
};

}  // namespace weir
