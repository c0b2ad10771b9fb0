#include "bench/quota/pipeline.h"

#include <algorithm>
#include <utility>

namespace weir {

Pipeline::Result Pipeline::Run(uint64_t calls, uint64_t depth) {
  result_ = {};
  free_ = depth;
  std::unique_lock lock(mutex_);
  while (calls > 0) {
    // Wakes up only when half of the calls are free, because a wake-up for each call would dominate the measurement.
    changed_.wait(lock, [&] { return free_ >= std::min(calls, (depth + 1) / 2); });
    const uint64_t now = std::min(calls, std::exchange(free_, 0));
    calls -= now;
    under_way_ += now;
    lock.unlock();
    for (uint64_t i = 0; i < now; ++i) store_.Submit(charge_, [this](const ChargeAnswer& answer) { OnAnswer(answer); });
    lock.lock();
  }
  changed_.wait(lock, [&] { return under_way_ == 0; });
  return result_;
}

void Pipeline::OnAnswer(const ChargeAnswer& answer) {
  const std::lock_guard lock(mutex_);
  ++result_.answered;
  if (answer.code != QuotaCode::kOk) ++result_.failed;
  ++free_;
  --under_way_;
  changed_.notify_one();
}

}  // namespace weir
