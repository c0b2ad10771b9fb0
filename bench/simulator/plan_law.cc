#include "bench/simulator/plan_law.h"

namespace weir {

Duration PlanLaw::AfterWrite(const WriteRequest&) {
  if (!plan_.CountOperation()) return Duration::zero();
  return plan_.Delay(clock_.Now(), PublishedPlan::ProcessVariable(monitor_.MemoryPressure(), monitor_.LoadLevel()));
}

LawView PlanLaw::View() const {
  return {.p = plan_.p(), .i = plan_.i(), .d = plan_.d(), .reason = plan_.delay() > Duration::zero() ? "delay" : ""};
}

}  // namespace weir
