#include "throttle/held_limits.h"

#include <cmath>

namespace weir {

void HeldLimits::Save(const GateLimits& last, const ByClass<double>& rates) {
  held_ = last;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    WriteLimit& limit = held_.writes[c];
    limit.hold = limit.emergency = false;
    limit.reason = kReason;
    limit.mean_bytes_per_second = 0;
    limit.bytes_per_second = rates[c] > 0 ? rates[c] : WriteLimit().bytes_per_second;
    held_.scans[c].refuse = false;
    held_.scans[c].reason = kReason;
  }
  held_.scans.reason = kReason;
}

GateLimits HeldLimits::LowerOf(const GateLimits& felt, bool emergency) const {
  GateLimits limits = held_;
  limits.writes.open = held_.writes.open && felt.writes.open;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    const WriteLimit& limit = felt.writes[c];
    if (limit.hold || limit.bytes_per_second < held_.writes[c].bytes_per_second) limits.writes[c] = limit;
  }
  if (!felt.scans.open && (held_.scans.open || emergency || felt.scans.at_once < held_.scans.at_once))
    limits.scans = felt.scans;
  return Named(limits);
}

GateLimits HeldLimits::Named(GateLimits limits) {
  for (WriteLimit& limit : limits.writes)
    limit.idle = !limit.hold && (limits.writes.open || std::isinf(limit.bytes_per_second));
  if (limits.scans.open) limits.scans.reason = kReason;
  return limits;
}

}  // namespace weir
