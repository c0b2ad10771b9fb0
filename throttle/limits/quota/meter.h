// Meter: the counter of one limit of a tier (limit.h): a window, a bucket, or a calendar day or month. DayCount: the
// counter of a model's requests a day; its day begins with the first request and lasts 24 h.
//
// The caller must call Advance, with the same time, before every other function.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "throttle/limits/quota/limit.h"
#include "throttle/limits/quota/quota.h"
#include "throttle/limits/quota/refilled_bucket.h"
#include "throttle/limits/quota/window_log.h"

namespace weir {

// PeriodCount: the counter of one calendar day or month. It does not return to 0 at the end of its period, because the
// next period has another date, and so another counter (Limit::date).
class PeriodCount {
 public:
  PeriodCount(const Limit& limit, WallTime now) : ends_(EndOfPeriod(limit)), now_(now) {}

  // Sets the end of the period to that of `limit`; a change of the time zone may have moved it.
  void Follow(const Limit& limit) { ends_ = EndOfPeriod(limit); }
  void Advance(WallTime now) { now_ = now; }
  int64_t used() const { return used_; }
  Duration UntilEnd() const { return ends_ - now_; }
  void Add(int64_t amount) { used_ = AddAmounts(used_, amount); }
  void GiveBack(int64_t amount) { used_ -= std::min(used_, amount); }
  // Returns true if the counter can be deleted: it counts nothing, or its period ended at least kPeriodKept ago.
  bool Forgettable() const { return used_ == 0 || now_ >= ends_ + kPeriodKept; }

 private:
  WallTime ends_;
  WallTime now_;
  int64_t used_ = 0;
};

class Meter {
 public:
  // `room` bounds the bytes of the entries of a window, and must outlive the meter; null: no bound.
  Meter(const Limit& limit, WallTime now, Bound* room = nullptr) : count_(Begin(limit, now, room)) {}

  // Counts by `limit` from now on. REQUIRES: the MeterName of `limit` is that of the former limit.
  void Follow(const Limit& limit) {
    if (auto* bucket = std::get_if<RefilledBucket>(&count_)) bucket->Follow(limit);
    if (auto* period = std::get_if<PeriodCount>(&count_)) period->Follow(limit);
  }
  void Advance(WallTime now) {
    std::visit([now](auto& count) { count.Advance(now); }, count_);
  }

  // Returns true if `amount` more fits now. A bucket ignores `limit`, and uses the limit of the last Follow.
  bool Fits(int64_t amount, const Limit& limit) const {
    if (const auto* log = std::get_if<WindowLog>(&count_)) return log->used() + amount <= Most(limit);
    if (const auto* period = std::get_if<PeriodCount>(&count_)) return period->used() + amount <= Most(limit);
    return std::get<RefilledBucket>(count_).Holds(amount);
  }
  // Returns the time until `amount` fits if nothing else is charged meanwhile. REQUIRES: `amount` does not fit now and
  // is at most MostAtOnce(limit).
  Duration UntilFits(WallTime now, int64_t amount, const Limit& limit) const {
    if (const auto* log = std::get_if<WindowLog>(&count_)) return log->UntilFits(now, amount, Most(limit));
    if (const auto* period = std::get_if<PeriodCount>(&count_)) return period->UntilEnd();
    return std::get<RefilledBucket>(count_).UntilHolds(amount);
  }
  // Returns the amount that counts; for a bucket, the amount that is missing until it is full, rounded up.
  int64_t used() const {
    if (const auto* log = std::get_if<WindowLog>(&count_)) return std::min(kMostAmount, log->used());
    if (const auto* period = std::get_if<PeriodCount>(&count_)) return period->used();
    return std::get<RefilledBucket>(count_).lacks();
  }

  // Adds an amount from 1 to kMostAmount, whatever the limit. Returns the number of the entry in a window, else 0; the
  // caller passes it to GiveBack.
  WindowLog::Ref Add(WallTime now, int64_t amount) {
    if (auto* log = std::get_if<WindowLog>(&count_)) return log->Add(now, amount);
    if (auto* period = std::get_if<PeriodCount>(&count_)) {
      period->Add(amount);
    } else {
      std::get<RefilledBucket>(count_).Take(amount);
    }
    return 0;
  }
  // Subtracts `amount` from what Add added `since` ago: `reserved` is the amount that it added, and `ref` is its
  // result. Does not subtract what no longer counts.
  void GiveBack(WindowLog::Ref ref, int64_t amount, int64_t reserved, Duration since) {
    if (auto* log = std::get_if<WindowLog>(&count_)) return log->GiveBack(ref, amount);
    if (auto* period = std::get_if<PeriodCount>(&count_)) return period->GiveBack(amount);
    std::get<RefilledBucket>(count_).GiveBack(amount, reserved, since);
  }

  // A reservation pins the meters that it may still need. A pinned meter must not be deleted.
  void Pin() { ++pins_; }
  void Unpin() { --pins_; }
  // Returns true if the meter can be deleted: it is not pinned, and it counts nothing, or its day or month is over
  // (PeriodCount).
  bool Forgettable() const {
    if (pins_ > 0) return false;
    if (const auto* log = std::get_if<WindowLog>(&count_)) return log->used() == 0;
    if (const auto* period = std::get_if<PeriodCount>(&count_)) return period->Forgettable();
    return std::get<RefilledBucket>(count_).IsFull();
  }

 private:
  static int64_t Most(const Limit& limit) { return std::min(kMostAmount, limit.amount); }

  using Count = std::variant<WindowLog, RefilledBucket, PeriodCount>;
  static Count Begin(const Limit& limit, WallTime now, Bound* room) {
    if (limit.kind == Limit::Kind::kBucket) return RefilledBucket(limit, now);
    if (IsOfCalendar(limit)) return PeriodCount(limit, now);
    return WindowLog(limit.per, room);
  }

  Count count_;
  uint32_t pins_ = 0;
};

class DayCount {
 public:
  using Ref = uint64_t;  // the number of a day

  DayCount() = default;
  // Restores a saved counter. `day` is the number of its day.
  DayCount(WallTime start, int64_t count, Ref day) : count_(count), day_(day) {
    if (count_ > 0) start_ = start;
  }

  // Ends the day if it is over. If the clock has stepped back to a time before the start of the day, the day starts at
  // `now`.
  void Advance(WallTime now) {
    if (count_ == 0) return;
    if (start_ > now) start_ = now;
    if (now - start_ >= kDay) End();
  }
  // Adds requests. The first request begins a day. Returns the number of the day, which the caller passes to GiveBack.
  Ref Add(WallTime now, int64_t requests) {
    if (count_ == 0) start_ = now;
    count_ = AddAmounts(count_, requests);
    return day_;
  }
  // Subtracts requests that were added in the day with this number, and ends the day if none are left. Does nothing if
  // that day has ended.
  void GiveBack(Ref day, int64_t requests) {
    if (day != day_ || count_ == 0) return;
    count_ -= std::min(count_, requests);
    if (count_ == 0) End();
  }
  // Ends the day and, if `count` is above 0, begins one with the given start and count.
  void Set(WallTime start, int64_t count) {
    End();
    if (count <= 0) return;
    start_ = start;
    count_ = count;
  }

  Ref day() const { return day_; }
  int64_t count() const { return count_; }
  WallTime start() const { return start_; }  // the epoch if no day has begun
  // REQUIRES: a day has begun.
  Duration UntilEnd(WallTime now) const { return start_ + kDay - now; }

 private:
  void End() {
    start_ = {};
    count_ = 0;
    ++day_;
  }

  WallTime start_{};
  int64_t count_ = 0;
  Ref day_ = 0;
};

}  // namespace weir
