// The published plan (bench/plan) in the simulator. Load is what weir's monitor calls the load level. The flush that the
// plan asks for at a delay above 100 ms is left out: a sync does nothing for a full L0.
#pragma once

#include "bench/plan/published_plan.h"
#include "bench/simulator/law.h"

namespace weir {

class PlanLaw final : public Law {
 public:
  // The plan knows one limiter for all writes, tuned for imports where bulk work is what overloads.
  explicit PlanLaw(const LawContext& context)
      : monitor_(context.monitor), clock_(context.clock), plan_(context.settings.bulk) {}

  void Admit(const WriteRequest&, std::function<void(LawAnswer)> answer) override { answer({}); }
  Duration AfterWrite(const WriteRequest& request) override;
  void Tick(const PlantView&) override {}
  LawView View() const override;

 private:
  LoadMonitor& monitor_;
  const Clock& clock_;
  PublishedPlan plan_;
};

}  // namespace weir
