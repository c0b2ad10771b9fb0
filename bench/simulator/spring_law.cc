#include "bench/simulator/spring_law.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

constexpr double kSpring = 0.1;  // of the target
constexpr Duration kDrainSmoothing = std::chrono::seconds(10);
constexpr double kLowestShareOfDrain = 0.05;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

SpringLaw::SpringLaw(const LawContext& context)
    : monitor_(context.monitor), clock_(context.clock), drain_(kDrainSmoothing), last_tick_(context.clock.Now()) {
  ClassOf(WorkClass::kInteractive).target = context.settings.write.setpoint;
  ClassOf(WorkClass::kBulk).target = context.settings.bulk.setpoint;
  for (Class& c : classes_) {
    c.rate = kInfinity;
    c.queue.SetRate(clock_.Now(), kInfinity);
  }
}

void SpringLaw::Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) {
  // Batch work has what normal work leaves.
  if (request.work_class == WorkClass::kInteractive) {
    ClassOf(WorkClass::kBulk).queue.Charge(clock_.Now(), static_cast<double>(request.bytes));
  }
  ClassOf(request.work_class).queue.Admit(clock_.Now(), request, std::move(answer));
}

void SpringLaw::Tick(const PlantView& plant) {
  const TimePoint now = clock_.Now();
  const double dt_s = ToSeconds(now - last_tick_);
  last_tick_ = now;
  if (dt_s <= 0) return;
  const double drain = drain_.Update(now, (plant.total_drained_bytes - seen_drained_) / dt_s);
  seen_drained_ = plant.total_drained_bytes;
  const double level = std::max(monitor_.LoadLevel(), monitor_.MemoryPressure());
  for (Class& c : classes_) {
    const double spring = kSpring * c.target;
    const double stretch = (level - c.target + spring) / spring;
    c.rate = kInfinity;
    if (stretch > 0 && drain > 0) c.rate = std::max(kLowestShareOfDrain * drain, drain / stretch);
    c.queue.SetRate(now, c.rate);
  }
}

TimePoint SpringLaw::Pump() {
  TimePoint next = TimePoint::max();
  for (Class& c : classes_) next = std::min(next, c.queue.Pump(clock_.Now()));
  return next;
}

LawView SpringLaw::View() const {
  const double rate = classes_[static_cast<size_t>(WorkClass::kBulk)].rate;
  const bool open = rate == kInfinity;
  return {.open = open,
          .bytes_per_second = open ? 0 : rate,
          .drain_bytes_per_second = drain_.value(),
          .reason = open ? "" : "spring"};
}

}  // namespace weir
