// FoundationDB's Ratekeeper on this engine's level: limit = drain · spring / (queue − target + spring), which is the
// drain at the target, more below it and without bound a spring below. No memory of the past but the smoothing of the
// drain; two limits, batch work with the lower target, as Ratekeeper's batch priority has.
//
// The queue is the highest level of the sample, the target the class's setpoint, the spring a tenth of it (100 of 1,000
// MB there). The drain is smoothed over 10 s: over Ratekeeper's one second it would show single compactions. Never
// below a twentieth of the drain, where Ratekeeper would fall towards nothing.
#pragma once

#include <array>

#include "bench/simulator/paced_queue.h"
#include "monitors/smoothed.h"

namespace weir {

class SpringLaw final : public Law {
 public:
  explicit SpringLaw(const LawContext& context);

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override;
  void Tick(const PlantView& plant) override;
  TimePoint Pump() override;
  LawView View() const override;

 private:
  struct Class {
    double target = 0;
    double rate = 0;
    PacedQueue queue;
  };

  Class& ClassOf(WorkClass c) { return classes_[static_cast<size_t>(c)]; }

  LoadMonitor& monitor_;
  const Clock& clock_;
  std::array<Class, kWorkClasses> classes_;
  Smoothed drain_;
  double seen_drained_ = 0;
  TimePoint last_tick_;
};

}  // namespace weir
