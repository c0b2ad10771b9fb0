#include "bench/simulator/weir_law.h"

#include <utility>

namespace weir {
namespace {

LawAnswer AnswerOf(const Admission& admission) {
  return {.admitted = admission.admitted(), .retry_after = admission.retry_after()};
}

}  // namespace

void WeirLaw::Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) {
  Admission admission = limiter_.Admit(Operation::kWrite, {request.bytes}, {request.party, request.work_class});
  if (!admission.waiting()) {
    answer(AnswerOf(admission));
    return;
  }
  const uint64_t id = next_id_++;
  Waiting& waiting = waiting_.try_emplace(id, Waiting{std::move(admission), std::move(answer)}).first->second;
  waiting.admission.OnSettled([this, id] { settled_.push_back(id); });
}

void WeirLaw::Tick(const PlantView&) {
  limiter_.Tick();
  Deliver();
}

TimePoint WeirLaw::Pump() {
  const TimePoint next = limiter_.Pump();
  Deliver();
  return next;
}

// An answer may bring the next request, and each look at an admission may settle others.
void WeirLaw::Deliver() {
  while (!settled_.empty()) {
    for (const uint64_t id : std::exchange(settled_, {})) {
      auto node = waiting_.extract(id);
      Waiting& waiting = node.mapped();
      waiting.admission.Poll();
      waiting.answer(AnswerOf(waiting.admission));
    }
  }
}

LawView WeirLaw::View() const {
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

}  // namespace weir
