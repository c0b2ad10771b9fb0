#include "throttle/limits/by_name/grant_window.h"

#include <algorithm>
#include <iterator>

namespace weir {

GrantWindow::Past& GrantWindow::Needed() {
  if (past_ == nullptr) {
    past_ = std::make_unique<Past>();
    past_->slices[0].first = next_;
  }
  return *past_;
}

void GrantWindow::Shift(TimePoint now) {
  const int64_t passed = (now - slice_start_) / slice_;
  slice_start_ += passed * slice_;
  if (past_ != nullptr && slides_) {
    for (int64_t i = 0; i < std::min<int64_t>(passed, kSlices + 1); ++i) {
      past_->current = (past_->current + 1) % (kSlices + 1);
      Slice& slice = past_->slices[past_->current];
      used_ -= slice.used;
      slice = {next_, 0};
    }
    ForgetBefore(past_->slices[(past_->current + 1) % (kSlices + 1)].first);
  } else {
    used_ = 0;
  }
  if (used_ != 0) return;
  oldest_ = next_;
  past_.reset();
}

uint32_t GrantWindow::UsedAt(TimePoint now) const {
  const int64_t passed = (now - slice_start_) / slice_;
  if (passed <= 0 || used_ == 0) return used_;
  if (!slides_ || passed > kSlices) return 0;
  uint32_t used = used_;
  for (uint32_t i = 1; i <= passed; ++i) used -= past_->slices[(past_->current + i) % (kSlices + 1)].used;
  return used;
}

void GrantWindow::Change(TimePoint begin, Duration window, WindowKind kind) {
  const uint32_t used = used_;
  *this = GrantWindow(begin, window, kind, next_);
  used_ = used;
  if (slides_ && used > 0) Needed().slices[0].used = used;
}

uint64_t GrantWindow::Add(uint32_t count) {
  if (slides_) {
    Past& past = Needed();
    past.slices[past.current].used += count;
  }
  used_ += count;
  next_ += count;
  return next_ - count;
}

bool GrantWindow::GiveBack(uint64_t number, bool may_grow) {
  if (number < oldest_ || number >= next_) return false;
  if (past_ == nullptr && !may_grow) {
    oldest_ = number + 1;
    --used_;
    return true;
  }
  Past& past = Needed();
  auto& given_back = past.given_back;
  const size_t most = may_grow ? kMostGivenBack : given_back.size();
  const auto after = given_back.upper_bound(number);
  const auto before = after == given_back.begin() ? given_back.end() : std::prev(after);
  if (before != given_back.end() && number < before->second) return false;

  uint64_t end = number + 1;
  if (after != given_back.end() && after->first == end) {
    end = after->second;
    given_back.erase(after);
  }
  if (before != given_back.end() && before->second == number) {
    before->second = end;
  } else {
    given_back.emplace(number, end);
  }
  --used_;
  if (slides_) {
    uint32_t at = past.current;
    while (past.slices[at].first > number) at = (at + kSlices) % (kSlices + 1);
    --past.slices[at].used;
  }
  if (given_back.size() > most) ForgetBefore(given_back.begin()->second);
  return true;
}

void GrantWindow::ForgetBefore(uint64_t oldest) {
  oldest_ = std::max(oldest_, oldest);
  auto& given_back = past_->given_back;
  while (!given_back.empty() && given_back.begin()->first < oldest_) {
    const uint64_t end = given_back.begin()->second;
    given_back.erase(given_back.begin());
    if (end > oldest_) given_back.emplace(oldest_, end);
  }
}

TimePoint GrantWindow::NextLeaves() const {
  if (!slides_) return slice_start_ + slice_;
  uint32_t age = kSlices;
  while (age > 0 && past_->slices[(past_->current + kSlices + 1 - age) % (kSlices + 1)].used == 0) --age;
  return slice_start_ + (kSlices + 1 - age) * slice_;
}

}  // namespace weir
