#include "throttle/limits/keyed/shared_lease.h"

namespace weir {

uint32_t SharedLease::Ask(TimePoint now, uint64_t ask, uint32_t waiting, uint32_t spent, uint32_t limit,
                          Duration window) {
  const uint32_t most = std::max<uint32_t>(1, limit / kShares);
  if (now < end_) {
    batch_ = std::min(2 * batch_, most);
  } else if (end_ == TimePoint::min() || now - end_ >= window) {
    batch_ = 1;
  } else if (2 * left_ >= batch_) {
    batch_ = std::max<uint32_t>(1, batch_ / 2);
  }
  ask_ = ask;
  asked_at_ = now;
  const uint32_t may_spend = limit - (now < end_ ? std::min(limit, spent) : 0);
  wished_ = std::min(may_spend, std::max<uint32_t>(1, waiting) + std::min(batch_, most) - 1);
  return wished_;
}

SharedLease::Change SharedLease::OnAnswer(const LeaseAnswer& answer, TimePoint now, uint32_t spent, uint32_t limit,
                                          Duration window, WhenAway when_away) {
  ask_ = 0;
  if (!answer.answered) return OnAway(now, spent, limit, window, when_away);
  const bool runs = now < end_;
  const bool moves = runs && window_ < 0;
  const bool same = runs && (moves || answer.window == window_);
  const TimePoint end = same && !moves ? end_ : asked_at_ + answer.remaining;
  if (now >= end) {
    // Either the process asked at the very end of a window, which says nothing about the server, or the answer took a
    // large part of a window: a server that is too slow twice in a row is as useless as one that does not answer.
    const bool is_late = now - asked_at_ > window / kLateShare;
    Change change = is_late && was_late_ ? OnAway(now, spent, limit, window, when_away) : Change{};
    was_late_ = is_late && !was_late_;
    change.unspent += answer.granted;
    return change;
  }
  was_late_ = false;
  retry_at_ = TimePoint::min();
  Change change{.begins = !same, .moves = moves};
  if (!same) {
    spent = 0;
    change.unspent = unspent();
    left_ = answer.granted;
  } else if (alone_) {
    left_ = std::min(answer.granted, limit - std::min(limit, spent));
    change.unspent = answer.granted - left_;
  } else {
    left_ += answer.granted;
  }
  end_ = end;
  window_ = answer.window;
  used_by_all_ = answer.used;
  // The window is full, too, if this process alone has spent or leased the whole limit, for example while it was alone.
  full_ = answer.granted < wished_ || spent + left_ >= limit;
  alone_ = false;
  return change;
}

SharedLease::Change SharedLease::OnAway(TimePoint now, uint32_t spent, uint32_t limit, Duration window,
                                        WhenAway when_away) {
  retry_at_ = now + kAwayPause;
  if (when_away == WhenAway::kRefuse) return {};
  Change change{.begins = now >= end_};
  if (change.begins) change.unspent = unspent();
  if (change.begins) {
    spent = 0;
    if (end_ == TimePoint::min()) {
      end_ = now + window;
    } else {
      const int64_t passed = (now - end_) / window + 1;
      end_ += passed * window;
      if (window_ >= 0) window_ += passed;
    }
  }
  left_ = limit - std::min(limit, spent);
  full_ = false;
  alone_ = true;
  return change;
}

}  // namespace weir
