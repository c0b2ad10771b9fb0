#include <algorithm>
#include <array>
#include <limits>

#include "bench/simulator/paced_queue.h"
#include "monitors/smoothed.h"

namespace weir {
namespace {

constexpr double kSpring = 0.1;  // share of the target
constexpr Duration kDrainSmoothing = std::chrono::seconds(10);
constexpr double kLowestShareOfDrain = 0.05;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// FoundationDB's Ratekeeper on this engine's level: limit = drain · spring / (queue − target + spring), which is the
// drain at the target, more below it and without bound a spring below. It remembers nothing of the past but the
// smoothed drain. There are two limits, of which batch work has the lower target, like Ratekeeper's batch priority.
//
// The queue is the highest level that acts on writes, the target the class's setpoint, the spring a tenth of it (100 of
// 1,000 MB there). The drain is smoothed over 10 s: over Ratekeeper's one second it would show single compactions.
// The limit is never below a twentieth of the drain; Ratekeeper's would fall towards 0.
class SpringLaw final : public Law {
 public:
  explicit SpringLaw(const LawContext& context)
      : monitor_(context.monitor), clock_(context.clock), drain_(kDrainSmoothing), last_tick_(context.clock.Now()) {
    ClassOf(WorkClass::kInteractive).target = context.settings.write.setpoint;
    ClassOf(WorkClass::kBulk).target = context.settings.bulk.setpoint;
    for (Class& c : classes_) {
      c.rate = kInfinity;
      c.queue.SetRate(clock_.Now(), kInfinity);
    }
  }

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override {
    // Batch work gets what normal work leaves.
    if (request.work_class == WorkClass::kInteractive) {
      ClassOf(WorkClass::kBulk).queue.Charge(clock_.Now(), static_cast<double>(request.bytes));
    }
    ClassOf(request.work_class).queue.Admit(clock_.Now(), request, std::move(answer));
  }

  void Tick(const PlantView& plant) override {
    const TimePoint now = clock_.Now();
    const double dt_s = ToSeconds(now - last_tick_);
    last_tick_ = now;
    if (dt_s <= 0) return;
    const double drain = drain_.Update(now, (plant.total_drained_bytes - seen_drained_) / dt_s);
    seen_drained_ = plant.total_drained_bytes;
    const double level = ActingLevel(monitor_.Sample());
    for (Class& c : classes_) {
      const double spring = kSpring * c.target;
      const double stretch = (level - c.target + spring) / spring;
      c.rate = kInfinity;
      if (stretch > 0 && drain > 0) c.rate = std::max(kLowestShareOfDrain * drain, drain / stretch);
      c.queue.SetRate(now, c.rate);
    }
  }

  TimePoint Pump() override {
    TimePoint next = TimePoint::max();
    for (Class& c : classes_) next = std::min(next, c.queue.Pump(clock_.Now()));
    return next;
  }

  LawView View() const override {
    const double rate = classes_[static_cast<size_t>(WorkClass::kBulk)].rate;
    const bool open = rate == kInfinity;
    return {.open = open,
            .bytes_per_second = open ? 0 : rate,
            .drain_bytes_per_second = drain_.value(),
            .reason = open ? "" : "spring"};
  }

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

}  // namespace

std::unique_ptr<Law> MakeSpringLaw(const LawContext& context) { return std::make_unique<SpringLaw>(context); }

}  // namespace weir
