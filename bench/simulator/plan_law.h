// The published plan (ORLY, December 2025), as it is written: after every Nth write of all callers together a PID turns
// 0.7 memory + 0.3 load into a delay in seconds, which the caller of that one write sleeps. The integral is clamped and
// knows nothing of a saturated output; time between updates is that between Nth writes; the derivative is taken of an
// error filtered per update.
//
// Load is what weir's monitor calls the load level. The flush that the plan asks for at a delay above 100 ms is left
// out: a sync does nothing for a full L0.
#pragma once

#include "bench/simulator/law.h"

namespace weir {

class PlanLaw final : public Law {
 public:
  explicit PlanLaw(const LawContext& context);

  void Admit(const WriteRequest&, std::function<void(LawAnswer)> answer) override { answer({}); }
  Duration AfterWrite(const WriteRequest& request) override;
  void Tick(const PlantView&) override {}
  LawView View() const override;

 private:
  double Update(double process_variable);

  LoadMonitor& monitor_;
  const Clock& clock_;
  const ControlSettings settings_;
  uint64_t operations_ = 0;
  double integral_ = 0;
  double filtered_error_ = 0;
  TimePoint last_update_{};
  bool initialized_ = false;
  double p_ = 0;
  double d_ = 0;
  double delay_s_ = 0;
};

}  // namespace weir
