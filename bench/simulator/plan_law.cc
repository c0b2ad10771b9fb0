#include "bench/simulator/plan_law.h"

namespace weir {
namespace {

PlanSettings WithOperatorsOf(PlanSettings plan, const ControlSettings& settings) {
  plan.gains = settings.gains;
  plan.setpoint = settings.setpoint;
  plan.filter_alpha = settings.filter_alpha;
  plan.min_batch = settings.min_batch;
  return plan;
}

}  // namespace

PlanLaw::PlanLaw(const LawContext& context)
    : monitor_(context.monitor),
      clock_(context.clock),
      plans_{PublishedPlan(WithOperatorsOf(kPlanWrites, context.settings.write)),
             PublishedPlan(WithOperatorsOf(kPlanImport, context.settings.bulk))} {}

Duration PlanLaw::AfterWrite(const WriteRequest& request) {
  PublishedPlan& plan = PlanOf(request.work_class);
  if (!plan.CountOperation()) return Duration::zero();
  return plan.Delay(clock_.Now(), PublishedPlan::ProcessVariable(monitor_.MemoryPressure(), monitor_.LoadLevel()));
}

LawView PlanLaw::View() const {
  const PublishedPlan& bulk = plans_[static_cast<size_t>(WorkClass::kBulk)];
  return {.p = bulk.p(), .i = bulk.i(), .d = bulk.d(), .reason = bulk.delay() > Duration::zero() ? "delay" : ""};
}

}  // namespace weir
