#include "bench/simulator/law.h"

#include <algorithm>
#include <array>

#include "bench/plan/published_plan.h"
#include "bench/simulator/paced_queue.h"

namespace weir {
namespace {

class NoLaw final : public Law {
 public:
  void Admit(const WriteRequest&, std::function<void(LawAnswer)> answer) override { answer({}); }
  void Tick(const PlantView&) override {}
  LawView View() const override { return {}; }
};

class FixedLaw final : public Law {
 public:
  explicit FixedLaw(const LawContext& context) : clock_(context.clock), rate_(context.fixed_bytes_per_second) {
    queue_.SetRate(clock_.Now(), rate_);
  }

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override {
    if (request.work_class == WorkClass::kInteractive) return answer({});
    queue_.Admit(clock_.Now(), request, std::move(answer));
  }
  void Tick(const PlantView&) override {}
  TimePoint Pump() override { return queue_.Pump(clock_.Now()); }
  LawView View() const override { return {.open = false, .bytes_per_second = rate_, .reason = "fixed"}; }

 private:
  const Clock& clock_;
  const double rate_;
  PacedQueue queue_;
};

PlanSettings WithOperatorsOf(PlanSettings plan, const ControlSettings& settings) {
  plan.gains = settings.gains;
  plan.setpoint = settings.setpoint;
  plan.filter_alpha = settings.filter_alpha;
  plan.min_batch = settings.min_batch;
  return plan;
}

// The published plan (bench/plan), with its EVENT limiter for interactive writes and its import limiter for bulk.
// Load is the highest of the engine's signals that act on writes. The flush that the plan asks for at a delay above 100
// ms is left out: a sync does nothing for a full L0.
class PlanLaw final : public Law {
 public:
  explicit PlanLaw(const LawContext& context)
      : monitor_(context.monitor),
        clock_(context.clock),
        plans_{PublishedPlan(WithOperatorsOf(kPlanWrites, context.settings.write)),
               PublishedPlan(WithOperatorsOf(kPlanImport, context.settings.bulk))} {}

  void Admit(const WriteRequest&, std::function<void(LawAnswer)> answer) override { answer({}); }

  Duration AfterWrite(const WriteRequest& request) override {
    PublishedPlan& plan = plans_[static_cast<size_t>(request.work_class)];
    if (!plan.CountOperation()) return Duration::zero();
    const LoadSample sample = monitor_.Sample();
    return plan.Delay(clock_.Now(), PublishedPlan::ProcessVariable(sample.memory_pressure, ActingEngineLevel(sample)));
  }

  void Tick(const PlantView&) override {}

  LawView View() const override {
    const PublishedPlan& bulk = plans_[static_cast<size_t>(WorkClass::kBulk)];
    return {.p = bulk.p(), .i = bulk.i(), .d = bulk.d(), .reason = bulk.delay() > Duration::zero() ? "delay" : ""};
  }

 private:
  LoadMonitor& monitor_;
  const Clock& clock_;
  std::array<PublishedPlan, kWorkClasses> plans_;
};

template <typename Counts>
double HighestActing(const LoadSample& sample, const Counts& counts) {
  double highest = 0;
  for (const Signal& signal : sample.signals())
    if (signal.acts_on_writes && counts(signal)) highest = std::max(highest, signal.level);
  return highest;
}

}  // namespace

double ActingLevel(const LoadSample& sample) {
  return HighestActing(sample, [](const Signal&) { return true; });
}

double ActingEngineLevel(const LoadSample& sample) {
  return HighestActing(sample, [](const Signal& signal) { return signal.name != "memory"; });
}

const std::vector<std::string_view>& LawNames() {
  static const std::vector<std::string_view> kNames = {"weir", "none", "plan", "pd", "spring"};
  return kNames;
}

std::unique_ptr<Law> MakeLaw(std::string_view name, const LawContext& context) {
  if (name == "weir") return MakeWeirLaw(context);
  if (name == "none") return std::make_unique<NoLaw>();
  if (name == "plan") return std::make_unique<PlanLaw>(context);
  if (name == "pd") return MakePdLaw(context);
  if (name == "spring") return MakeSpringLaw(context);
  if (name == "fixed") return std::make_unique<FixedLaw>(context);
  return nullptr;
}

// The plan does nothing to the engine's triggers. TiKV's controller was there to take the place of write stalls, and
// FoundationDB's storage has none.
bool MovesBrakes(std::string_view name) { return name != "none" && name != "plan"; }

}  // namespace weir
