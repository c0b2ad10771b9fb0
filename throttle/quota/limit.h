// A limit of a tier: an amount of requests, tokens or money in any window of a given length or from a bucket that is
// refilled, or a number of calls at once.
//
//   window: at most `amount` in any `per`; an entry made at t has left at t + per.
//   bucket: begins full, with `burst`, and gets `amount` in every `per`, continuously, until it is full again.
//   day, month: at most `amount` in each calendar day or month; all that counts leaves at once, at its end.
//
// Money is in millionths of the unit of the prices. Calls are those under way, reserved and not settled; their limit is
// a window of kCallCounts, which a call leaves when it is settled or its time to live is over.
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
  // 1 s .. 366 days, whole milliseconds. For a calendar day or month it is 0 in a configuration; in a charge it is the
  // end of the current one, as time since 1970, so that a store needs no calendar.
  Duration per{};
  int64_t burst = 0;  // for buckets: >= amount
  // Only for a tenant or an API key: one count for all its users and, if stated under "*", for all models.
  bool total = false;
  int64_t date = 0;  // date of the day or month in a charge (Calendar::Period): each has a count of its own

  bool operator==(const Limit&) const = default;
};

inline constexpr size_t kQuotaUnits = 4;
inline constexpr int64_t kMoneyUnit = 1'000'000;
// A call that takes longer no longer counts.
inline constexpr Duration kCallCounts = std::chrono::hours(48);
// The end of a call cannot be predicted, so a refused caller may ask again after this time.
inline constexpr Duration kCallsPause = std::chrono::seconds(1);

// An amount for each unit.
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
// The end of the day or month of a charge's limit.
inline WallTime EndOfPeriod(const Limit& limit) { return WallTime(limit.per); }

// The most that one request may ask for.
inline int64_t MostAtOnce(const Limit& limit) {
  return limit.kind == Limit::Kind::kBucket ? limit.burst : limit.amount;
}

std::string_view NameOf(Limit::Unit unit);  // "requests", "tokens", "money", "calls"
// Returns "12.50" for money, else the whole number.
std::string AmountText(Limit::Unit unit, int64_t amount);
// "r3600000", "tb60000", "rm202602": unit, kind, and length in ms or date. It keeps the counts of two limits of one key
// apart. With another amount the same count goes on, and so it does if the end of the day or month moves.
std::string MeterName(const Limit& limit);
// The last part of MeterName, for stores that keep a number: nanoseconds, or a date.
inline int64_t LengthOrDate(const Limit& limit) { return IsOfCalendar(limit) ? limit.date : limit.per.count(); }
// "100 requests in 1 h", "100 tokens/h, at most 200 at once", "12.50 of money in a calendar month", "5 calls at once"
std::string Describe(const Limit& limit);

}  // namespace weir
