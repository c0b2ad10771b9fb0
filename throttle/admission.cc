#include "throttle/admission.h"

#include <utility>

namespace weir {

Admission& Admission::operator=(Admission&& other) noexcept {
  if (this == &other) return *this;
  if (source_ != nullptr) End();
  source_ = std::exchange(other.source_, nullptr);
  waiter_ = std::move(other.waiter_);
  answer_ = other.answer_;
  return *this;
}

Admission::State Admission::Poll() {
  PassIfForked();
  return waiter_ == nullptr ? state() : source_->Poll(*this, *waiter_);
}

Admission::State Admission::Wait() {
  PassIfForked();
  return waiter_ == nullptr ? state() : source_->Wait(*this, *waiter_);
}

void Admission::OnSettled(std::function<void()> settled) {
  PassIfForked();
  if (waiter_ == nullptr || !source_->SetOnSettled(*waiter_, &settled)) settled();
}

bool Admission::Cancel() {
  PassIfForked();
  return waiter_ != nullptr && source_->Cancel(*this, *waiter_);
}

void Admission::End() {
  if (!source_->IsForked()) source_->End(waiter_.get());
}

void Admission::PassIfForked() {
  if (source_ == nullptr || !source_->IsForked()) return;
  if (waiting()) answer_.state = State::kAdmitted;
  source_ = nullptr;
  waiter_ = nullptr;
}

void AdmissionSource::Give(Admission& admission, const Admission::Answer& answer, bool is_done, bool has_permit) {
  admission.answer_ = answer;
  if (!is_done) return;
  if (!has_permit) admission.source_ = nullptr;
  admission.waiter_ = nullptr;
}

}  // namespace weir
