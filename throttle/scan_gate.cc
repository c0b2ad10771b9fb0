#include "throttle/scan_gate.h"

namespace weir {
namespace {

// A slice of an export reads for some milliseconds, so it hardly delays an interactive scan. Even if interactive scans
// that take a second each run one after the other, an export gets a permit before its longest wait is over.
constexpr int kPermitsPerBulk = 8;

}  // namespace

void ScanGate::SetLimits(const ScanLimits& limits) {
  const MutexLock lock(mutex_);
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
    if (!IsScan(waiter.bytes)) {
      PassOutOfTurn(waiter, now);
    } else if (limit.refuse) {
      Refuse(waiter, limit.reason, ToSeconds(limit.longest_wait), now);
    }
  }
  PumpAndWake();
}

Admission ScanGate::Decide(Party party, uint64_t bytes, TimePoint now) {
  bytes = std::min(bytes, kLargestCost);
  const ScanLimit& limit = limits_[party.work_class];
  if (AtOnce(party.work_class) == ScanLimits::kAnyNumber || !IsScan(bytes)) {
    CountAdmitted(party.work_class, bytes);
    return Admission();
  }
  if (limit.refuse) return Refuse(party.work_class, limit.reason, ToSeconds(limit.longest_wait));
  return AdmitInTurn(party, bytes, now);
}

bool ScanGate::IsTurnOfBulk() const {
  return !open() && passed_bulk_ >= kPermitsPerBulk - 1 && !lines_[WorkClass::kBulk].queue.empty();
}

// When it is the turn of bulk scans, bulk_at_once does not apply, because the number of running interactive scans may
// never fall below it.
bool ScanGate::MayPass(WorkClass c, uint64_t bytes) const {
  if (!IsScan(bytes)) return true;
  if (IsTurnOfBulk()) return c == WorkClass::kBulk && running_ < limits_.at_once;
  return running_ < AtOnce(c);
}

bool ScanGate::Pay(WorkClass c, uint64_t bytes) {
  if (!IsScan(bytes) || AtOnce(c) == ScanLimits::kAnyNumber) return false;
  passed_bulk_ = c == WorkClass::kBulk || lines_[WorkClass::kBulk].queue.empty() ? 0 : passed_bulk_ + 1;
  return true;
}

}  // namespace weir
