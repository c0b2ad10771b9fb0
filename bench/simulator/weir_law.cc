#include <unordered_map>
#include <utility>

#include "bench/simulator/law.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

LawAnswer AnswerOf(const Admission& admission) {
  return {.admitted = admission.admitted(), .retry_after = admission.retry_after()};
}

// The real AdaptiveLimiter, driven by hand: no thread, no sleep, the simulation's clock.
class WeirLaw final : public Law {
 public:
  explicit WeirLaw(const LawContext& context) : limiter_(context.monitor, context.settings) {}

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override {
    Admission admission = limiter_.Admit(Operation::kWrite, {request.bytes}, {request.party, request.work_class});
    if (!admission.waiting()) {
      answer(AnswerOf(admission));
      return;
    }
    const uint64_t id = next_id_++;
    Waiting& waiting = waiting_.try_emplace(id, Waiting{std::move(admission), std::move(answer)}).first->second;
    waiting.admission.OnSettled([this, id] { settled_.push_back(id); });
  }

  void Tick(const PlantView&) override {
    limiter_.Tick();
    Deliver();
  }

  TimePoint Pump() override {
    const TimePoint next = limiter_.Pump();
    Deliver();
    return next;
  }

  void SetBulkGains(const PidGains& gains) override { limiter_.SetWriteGains(gains, WorkClass::kBulk); }

  LawView View() const override {
    const LimiterView view = limiter_.View();
    const LimiterView::Write& bulk = view[WorkClass::kBulk];
    const PidState state = limiter_.ControllerState(Operation::kWrite, WorkClass::kBulk);
    return {.open = bulk.open,
            .bytes_per_second = bulk.bytes_per_second,
            .drain_bytes_per_second = bulk.drain_bytes_per_second,
            .p = state.p,
            .i = state.i,
            .d = state.d,
            .reason = view.sensor_lost ? "sensor lost" : bulk.reason};
  }

 private:
  struct Waiting {
    Admission admission;
    std::function<void(LawAnswer)> answer;
  };

  // A client that gets its answer may send the next request, and each look at an admission may admit or refuse others.
  void Deliver() {
    while (!settled_.empty()) {
      for (const uint64_t id : std::exchange(settled_, {})) {
        auto node = waiting_.extract(id);
        Waiting& waiting = node.mapped();
        waiting.admission.Poll();
        waiting.answer(AnswerOf(waiting.admission));
      }
    }
  }

  AdaptiveLimiter limiter_;
  std::unordered_map<uint64_t, Waiting> waiting_;
  std::vector<uint64_t> settled_;
  uint64_t next_id_ = 0;
};

}  // namespace

std::unique_ptr<Law> MakeWeirLaw(const LawContext& context) { return std::make_unique<WeirLaw>(context); }

}  // namespace weir
