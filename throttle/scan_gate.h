// ScanGate: the gate (gate.h) for reads; it bounds how many scans run at once. A scan is a read that is likely to touch
// at least scan_bytes; cheaper reads pass. While the gate is open, interactive scans are not bounded, but bulk scans
// are (bulk_at_once): if as many ran as there are cores, no core would be left for interactive work, however much
// memory is free. A scan that the gate bounds holds a permit until its Admission is destroyed. Bulk scans never starve:
// while the gate is closed and a bulk scan waits, at least every eighth permit goes to a bulk scan.
#pragma once

#include <algorithm>

#include "throttle/gate.h"

namespace weir {

struct ScanLimit {
  Duration longest_wait = std::chrono::seconds(1);
  bool refuse = false;           // refuse all scans of the class immediately
  std::string_view reason = "";  // reason of waits and refusals; points to storage that outlives the gate
};

struct ScanLimits : ByClass<ScanLimit> {
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

  bool open = true;                   // interactive scans pass without a permit; only Stats().admitted counts them
  int64_t at_once = kAnyNumber;       // while not open: how many scans of both classes together may run
  int64_t bulk_at_once = kAnyNumber;  // a bulk scan begins only if fewer scans hold permits, or as the eighth (above)
  uint64_t scan_bytes = 0;            // a read of at least this many bytes is a scan; 0: every read is
  std::string_view reason = "";       // why scans are limited; only LimiterView uses it
};

class ScanGate final : public Gate {
 public:
  using Gate::Gate;

  // Sets new limits, refuses the waiting scans of a class that has `refuse` set, and admits the waiting scans that may
  // pass now. Their functions (Admission::OnSettled) run later, as write_gate.h says. An interactive scan that passed
  // while the gate was open holds no permit, so it does not count as running later.
  void SetLimits(const ScanLimits& limits);

 private:
  bool IsScan(uint64_t bytes) const WEIR_REQUIRES(mutex_) { return bytes >= limits_.scan_bytes; }
  Admission Decide(Party party, uint64_t bytes, TimePoint now) override WEIR_REQUIRES(mutex_);
  bool MayPass(WorkClass c, uint64_t bytes) const override WEIR_REQUIRES(mutex_);
  bool Pay(WorkClass c, uint64_t bytes) override WEIR_REQUIRES(mutex_);
  bool IsTurnOfBulk() const WEIR_REQUIRES(mutex_);
  int64_t AtOnce(WorkClass c) const WEIR_REQUIRES(mutex_) {
    if (c == WorkClass::kBulk) return open() ? limits_.bulk_at_once : std::min(limits_.at_once, limits_.bulk_at_once);
    return open() ? ScanLimits::kAnyNumber : limits_.at_once;
  }
  // Returns 0 if the scan may pass now, else the longest wait, because the end of a permit cannot be predicted.
  double SecondsUntil(WorkClass c, uint64_t bytes) const override WEIR_REQUIRES(mutex_) {
    return MayPass(c, bytes) ? 0 : ToSeconds(limits_[c].longest_wait);
  }

  ScanLimits limits_ WEIR_GUARDED_BY(mutex_);
  // Interactive permits since the last bulk permit, counted while a bulk scan waits.
  int passed_bulk_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
