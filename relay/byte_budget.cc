#include "relay/byte_budget.h"

#include <utility>

namespace weir {

ByteBudget::ByteBudget(uint64_t bytes, std::function<void(int64_t)> count) : bytes_(bytes), count_(std::move(count)) {}

bool ByteBudget::Take(uint64_t bytes, std::function<void()> granted) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !Fits(bytes)) {
      waiting_.push_back({bytes, std::move(granted)});
      return false;
    }
    out_ += bytes;
  }
  if (count_) count_(static_cast<int64_t>(bytes));
  return true;
}

void ByteBudget::GiveBack(uint64_t bytes) {
  if (bytes == 0) return;
  std::vector<std::function<void()>> granted;
  int64_t change = -static_cast<int64_t>(bytes);
  {
    const std::lock_guard lock(mutex_);
    out_ -= bytes;
    while (!waiting_.empty() && Fits(waiting_.front().bytes)) {
      out_ += waiting_.front().bytes;
      change += static_cast<int64_t>(waiting_.front().bytes);
      granted.push_back(std::move(waiting_.front().granted));
      waiting_.pop_front();
    }
  }
  if (count_) count_(change);
  for (const std::function<void()>& tell : granted) tell();
}

void ByteBudget::ForgetWaiting() {
  std::deque<Waiting> forgotten;
  const std::lock_guard lock(mutex_);
  forgotten.swap(waiting_);
}

uint64_t ByteBudget::out() const {
  const std::lock_guard lock(mutex_);
  return out_;
}

size_t ByteBudget::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace weir
