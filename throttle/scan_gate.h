// ScanGate: bounds how many scans run at once. A scan is a read that is likely to touch at least scan_bytes; cheaper
// reads pass. Bulk scans are bounded while the gate is open too: as many as there are cores would keep every core from
// interactive work, however much memory is free. They never starve: while some wait, every eighth permit is theirs.
#pragma once

#include <algorithm>

#include "throttle/gate.h"

namespace weir {

struct ScanLimit {
  Duration longest_wait = std::chrono::seconds(1);
  bool refuse = false;           // refuses scans at once
  std::string_view reason = "";  // names what limits; points to storage that outlives the gate
};

struct ScanLimits : ByClass<ScanLimit> {
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

  bool open = true;                   // interactive scans are not limited, and only counted
  int64_t at_once = kAnyNumber;       // scans of both classes together
  int64_t bulk_at_once = kAnyNumber;  // a bulk scan begins only beside fewer scans than this
  uint64_t scan_bytes = 0;
};

class ScanGate final : public Gate {
 public:
  using Gate::Gate;

  void SetLimits(const ScanLimits& limits);

 private:
  bool IsScan(uint64_t bytes) const { return bytes >= limits_.scan_bytes; }
  Admission Decide(Party party, uint64_t bytes, TimePoint now) override;
  bool MayPass(WorkClass c, uint64_t bytes) const override;
  bool Pay(WorkClass c, uint64_t bytes) override;
  bool IsTurnOfBulk() const;
  int64_t AtOnce(WorkClass c) const {
    if (c == WorkClass::kBulk) return open() ? limits_.bulk_at_once : std::min(limits_.at_once, limits_.bulk_at_once);
    return open() ? ScanLimits::kAnyNumber : limits_.at_once;
  }
  // The end of a permit cannot be foretold.
  double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t) const override {
    return MayPass(c, bytes) ? 0 : ToSeconds(limits_[c].longest_wait);
  }

  ScanLimits limits_;
  int passed_bulk_ = 0;  // interactive permits since the last bulk one, while bulk scans wait
};

}  // namespace weir
