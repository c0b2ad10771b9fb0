// ScanGate: bounds how many scans run at once: reads that are likely to touch at least scan_bytes. Cheaper ones pass.
#pragma once

#include "throttle/gate.h"

namespace weir {

struct ScanLimit {
  Duration longest_wait = std::chrono::seconds(1);
  bool refuse = false;           // at once
  std::string_view reason = "";  // what limits; points to storage that outlives the gate
};

struct ScanLimits : ByClass<ScanLimit> {
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

  bool open = true;              // nothing is limited, and what passes is only counted
  int64_t at_once = kAnyNumber;  // of both classes together
  uint64_t scan_bytes = 0;
};

class ScanGate final : public Gate {
 public:
  using Gate::Gate;

  void SetLimits(const ScanLimits& limits);

 private:
  bool IsScan(uint64_t bytes) const { return bytes >= limits_.scan_bytes; }
  Admission Decide(Party party, uint64_t bytes, TimePoint now) override;
  bool MayPass(WorkClass, uint64_t bytes) const override {
    return open() || !IsScan(bytes) || running_ < limits_.at_once;
  }
  bool Pay(WorkClass, uint64_t bytes) override { return IsScan(bytes) && limits_.at_once != ScanLimits::kAnyNumber; }
  // Nobody can tell when a permit ends.
  double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t) const override {
    return MayPass(c, bytes) ? 0 : ToSeconds(limits_[c].longest_wait);
  }

  ScanLimits limits_;
};

}  // namespace weir
