#include "throttle/scan_gate.h"

namespace weir {

void ScanGate::SetLimits(const ScanLimits& limits) {
  std::lock_guard lock(mutex_);
  limits_ = limits;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    lines_[c].longest_wait = limits[c].longest_wait;
    lines_[c].reason = limits[c].reason;
  }
  SetOpen(limits.open);
  SetBulkAsksFrom(limits.bulk_at_once == ScanLimits::kAnyNumber ? kAnyBytes : limits.scan_bytes);
  const TimePoint now = clock_.Now();
  for (auto next = deadlines_.begin(); next != deadlines_.end();) {
    Waiter& waiter = *(next++)->second;
    const ScanLimit& limit = limits[waiter.party.work_class];
    if (limit.refuse && IsScan(waiter.bytes)) Refuse(waiter, limit.reason, ToSeconds(limit.longest_wait), now);
  }
  PumpAndWake();
}

Admission ScanGate::Decide(Party party, uint64_t bytes, TimePoint now) {
  const ScanLimit& limit = limits_[party.work_class];
  if (AtOnce(party.work_class) == ScanLimits::kAnyNumber || !IsScan(bytes)) {
    CountAdmitted({bytes}, party.work_class);
    return Admission();
  }
  if (limit.refuse) return Refuse(party.work_class, limit.reason, ToSeconds(limit.longest_wait));
  return AdmitInTurn(party, bytes, now);
}

}  // namespace weir
