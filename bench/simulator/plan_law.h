// The published plan (bench/plan) in the simulator, with its limiter of EVENT for interactive writes and that of the
// import for bulk. Load is what weir's monitor calls the load level. The flush that the plan asks for at a delay above
// 100 ms is left out: a sync does nothing for a full L0.
#pragma once

#include <array>

#include "bench/plan/published_plan.h"
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
  PublishedPlan& PlanOf(WorkClass c) { return plans_[static_cast<size_t>(c)]; }

  LoadMonitor& monitor_;
  const Clock& clock_;
  std::array<PublishedPlan, kWorkClasses> plans_;
};

}  // namespace weir
