#include "throttle/admission.h"

#include <mutex>
#include <utility>

#include "throttle/gate.h"

namespace weir {

Admission& Admission::operator=(Admission&& other) noexcept {
  if (this == &other) return *this;
  if (gate_ != nullptr) End();
  gate_ = std::exchange(other.gate_, nullptr);
  waiter_ = std::move(other.waiter_);
  answer_ = other.answer_;
  return *this;
}

Admission::State Admission::Poll() {
  if (waiter_ == nullptr) return state();
  const Gate::SettlingLock lock(*gate_);
  gate_->PumpAndWake();
  TakeAnswer();
  return state();
}

Admission::State Admission::Wait() {
  if (waiter_ == nullptr) return state();
  std::unique_lock lock(gate_->mutex_);
  waiter_->changed.wait(lock, [this] { return !waiter_->waits(); });
  TakeAnswer();
  return state();
}

void Admission::OnSettled(std::function<void()> settled) {
  if (waiter_ != nullptr) {
    std::lock_guard lock(gate_->mutex_);
    if (waiter_->waits()) {
      waiter_->on_settled.swap(settled);  // an earlier function is destroyed after the lock is released
      return;
    }
  }
  settled();
}

bool Admission::Cancel() {
  if (waiter_ == nullptr) return false;
  std::function<void()> forgotten;  // destroyed after the unlock: it may own an Admission of this gate
  Gate::SettlingLock lock(*gate_);
  if (!waiter_->waits()) {
    gate_->FinishTelling(*waiter_, lock);
    TakeAnswer();
    return false;
  }
  forgotten.swap(waiter_->on_settled);
  gate_->Release(waiter_.get());
  gate_ = nullptr;
  waiter_ = nullptr;
  answer_.state = State::kRefused;
  answer_.reason = "cancelled";
  return true;
}

// When End returns, the waiter's function has returned or will never be called.
void Admission::End() {
  std::function<void()> forgotten;  // destroyed after the unlock: it may own an Admission of this gate
  Gate::SettlingLock lock(*gate_);
  if (waiter_ != nullptr) {
    forgotten.swap(waiter_->on_settled);
    gate_->FinishTelling(*waiter_, lock);
  }
  gate_->Release(waiter_.get());
}

// Copies the waiter's answer if the waiter is settled. The caller holds the lock.
void Admission::TakeAnswer() {
  if (waiter_->waits()) return;
  answer_ = waiter_->answer;
  if (waiter_->is_being_told()) return;  // the waiter is still needed
  if (!waiter_->has_permit) gate_ = nullptr;
  waiter_ = nullptr;
}

}  // namespace weir
