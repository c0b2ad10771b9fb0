// A limit of a tier: so many requests or tokens, or so much money, in any window of a length, or from a bucket that is
// refilled; or so many calls at once.
//
//   window: at most `amount` in any `per`; what counts at t has left at t + per.
//   bucket: begins full, with `burst`, and gets `amount` in every `per`, continuously, until it is full again.
//   day, month: at most `amount` in each of the calendar; what counts leaves all at once, at its end.
//
// Money is in millionths of whatever the prices are in. Calls are those that are under way: reserved, and not settled;
// their limit is a window of kCallCounts, which a call leaves when it is settled or its time to live is over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

struct Limit {
  enum class Unit : uint8_t { kRequests, kTokens, kMoney, kCalls };
  enum class Kind : uint8_t { kWindow, kBucket, kCalendarDay, kCalendarMonth };

  Unit unit = Unit::kRequests;
  Kind kind = Kind::kWindow;
  int64_t amount = 0;  // > 0
  // 1 s .. 366 days, whole milliseconds. Of a day or month nothing as it is stated, and in a charge the time since 1970
  // at which this one is over: so a store needs no calendar.
  Duration per{};
  int64_t burst = 0;  // of a bucket: >= amount
  // Of a tenant or an API key alone: one count for all its users and, where it stands under "*", all models.
  bool total = false;
  int64_t date = 0;  // of the day or month of a charge (Calendar::Period): each date is a count of its own

  bool operator==(const Limit&) const = default;
};

inline constexpr size_t kQuotaUnits = 4;
inline constexpr int64_t kMoneyUnit = 1'000'000;
// A call that goes on for longer counts no more.
inline constexpr Duration kCallCounts = std::chrono::hours(48);
// Nobody knows when a call ends: who is refused may ask again then.
inline constexpr Duration kCallsPause = std::chrono::seconds(1);

// What there is of each unit.
struct Amounts {
  int64_t requests = 0;
  int64_t tokens = 0;
  int64_t money = 0;
  int64_t calls = 0;

  int64_t Of(Limit::Unit unit) const {
    switch (unit) {
      case Limit::Unit::kRequests:
        return requests;
      case Limit::Unit::kTokens:
        return tokens;
      case Limit::Unit::kMoney:
        return money;
      case Limit::Unit::kCalls:
        return calls;
    }
    return 0;
  }
  bool operator==(const Amounts&) const = default;
};

inline bool IsOfCalendar(const Limit& limit) {
  return limit.kind == Limit::Kind::kCalendarDay || limit.kind == Limit::Kind::kCalendarMonth;
}
inline std::string_view PeriodOf(const Limit& limit) {
  return limit.kind == Limit::Kind::kCalendarDay ? "day" : "month";
}
// Of the day or month of a charge.
inline WallTime EndOfPeriod(const Limit& limit) { return WallTime(limit.per); }

// What may be asked for at once at most.
inline int64_t MostAtOnce(const Limit& limit) {
  return limit.kind == Limit::Kind::kBucket ? limit.burst : limit.amount;
}

std::string_view NameOf(Limit::Unit unit);  // "requests", "tokens", "money", "calls"
// "12.50" of money, else the whole number.
std::string AmountText(Limit::Unit unit, int64_t amount);
// "r3600000", "tb60000", "rm202602": unit, kind, and length in ms or date: what keeps the counts of two limits of one
// key apart. Another amount goes on with the same count, and so does another end of the same day or month.
std::string MeterName(const Limit& limit);
// The last of these, for stores that keep a number: of nanoseconds, or a date.
inline int64_t LengthOrDate(const Limit& limit) { return IsOfCalendar(limit) ? limit.date : limit.per.count(); }
// "100 requests in 1 h", "100 tokens/h, at most 200 at once", "12.50 of money in a calendar month", "5 calls at once"
std::string Describe(const Limit& limit);

}  // namespace weir
