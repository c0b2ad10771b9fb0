#include "throttle/admission.h"

#include <mutex>
#include <utility>

#include "throttle/gate.h"

namespace weir {

void WaiterDeleter::operator()(Waiter* waiter) const { delete waiter; }

Admission::Admission(Admission&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)),
      waiter_(std::move(other.waiter_)),
      state_(other.state_),
      wait_until_(other.wait_until_),
      retry_after_(other.retry_after_),
      waited_(other.waited_),
      reason_(other.reason_) {}

Admission& Admission::operator=(Admission&& other) noexcept {
  if (this == &other) return *this;
  if (gate_ != nullptr) End();
  gate_ = std::exchange(other.gate_, nullptr);
  waiter_ = std::move(other.waiter_);
  state_ = other.state_;
  wait_until_ = other.wait_until_;
  retry_after_ = other.retry_after_;
  waited_ = other.waited_;
  reason_ = other.reason_;
  return *this;
}

Admission::State Admission::Poll() {
  if (waiter_ == nullptr) return state_;
  std::lock_guard lock(gate_->mutex_);
  gate_->WakeAt(gate_->PumpLocked(gate_->clock_.Now()));
  gate_->TakeOver(*this);
  return state_;
}

Admission::State Admission::Wait() {
  if (waiter_ == nullptr) return state_;
  std::unique_lock lock(gate_->mutex_);
  waiter_->settled.wait(lock, [this] { return waiter_->state != State::kWaiting; });
  gate_->TakeOver(*this);
  return state_;
}

void Admission::OnSettled(std::function<void()> settled) {
  if (waiter_ != nullptr) {
    std::lock_guard lock(gate_->mutex_);
    if (waiter_->state == State::kWaiting) {
      waiter_->on_settled = std::move(settled);
      return;
    }
  }
  settled();
}

bool Admission::Cancel() {
  if (waiter_ == nullptr) return false;
  std::function<void()> callback;  // ends after the lock: it may own another Admission of this gate
  std::lock_guard lock(gate_->mutex_);
  callback.swap(waiter_->on_settled);
  gate_->TakeOver(*this);
  if (state_ != State::kWaiting) return false;
  gate_->Release(*this);
  state_ = State::kRefused;
  reason_ = "cancelled";
  return true;
}

void Admission::End() {
  std::function<void()> callback;  // ends after the lock: it may own another Admission of this gate
  std::lock_guard lock(gate_->mutex_);
  if (waiter_ != nullptr) callback.swap(waiter_->on_settled);
  gate_->Release(*this);
}

}  // namespace weir
