// Limit: one limit of a tier (tier_rules.h). It limits how many calls to models are under way at the same time, or an
// amount of requests, tokens or money in one of these ways:
//
//   window: at most `amount` in any period of length `per`. An amount charged at time t stops counting at t + per.
//   bucket: starts full, with `burst`, and gains `amount` in every period `per`, continuously, until it is full again.
//   day, month: at most `amount` in each calendar day or month. Each day or month has a new counter.
//
// Money is counted in millionths of the currency of the prices. A call is under way from its reservation until the
// reservation is settled or expires. A limit of calls is a window of length kCallCounts. A call leaves this window as
// soon as it is no longer under way.
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
  int64_t amount = 0;  // 1..kMostAmount
  // The length: 1 s to 366 days, in whole milliseconds; kCallCounts for a limit of calls. For a calendar day or month
  // the length is 0 in a configuration. In a charge (quota_store.h) it is instead the end of the current day or month,
  // as time since 1970, so that a store needs no calendar.
  Duration per{};
  int64_t burst = 0;  // only for buckets: the amount in a full bucket; >= amount
  // Only for a tenant or an API key. True: one counter for all its users; under the model name "*", it also counts all
  // models together.
  bool total = false;
  // Only in a charge, for a calendar day or month: its date (Calendar::Period). Each date has a counter of its own.
  int64_t date = 0;

  bool operator==(const Limit&) const = default;
};

inline constexpr size_t kQuotaUnits = 4;
inline constexpr int64_t kMoneyUnit = 1'000'000;  // millionths in one unit of money
// A call that takes longer than this no longer counts against its limit.
inline constexpr Duration kCallCounts = std::chrono::hours(48);
// If a limit of calls refuses a caller, the caller may ask again after this time. The time is fixed, because the end of
// a call cannot be predicted.
inline constexpr Duration kCallsPause = std::chrono::seconds(1);

// One amount for each unit.
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
// Returns "day" or "month". REQUIRES: IsOfCalendar(limit).
inline std::string_view PeriodOf(const Limit& limit) {
  return limit.kind == Limit::Kind::kCalendarDay ? "day" : "month";
}
// Returns the end of the day or month. REQUIRES: IsOfCalendar(limit), and the limit is part of a charge.
inline WallTime EndOfPeriod(const Limit& limit) { return WallTime(limit.per); }

// Returns the largest amount that can fit into the limit in one charge, however long its caller waits.
inline int64_t MostAtOnce(const Limit& limit) {
  return limit.kind == Limit::Kind::kBucket ? limit.burst : limit.amount;
}

std::string_view NameOf(Limit::Unit unit);  // "requests", "tokens", "money", "calls"
// Returns the amount as text for people: "12.50" for money, a whole number for other units.
std::string AmountText(Limit::Unit unit, int64_t amount);
// Returns a name made of the unit, the kind, and the length in ms or the date: "r3600000", "tb60000", "rm202602". The
// name is the last part of the name of the limit's counter (TierCharge in quota_store.h). So limits of a user or tenant
// have different counters if they differ in unit, kind or length. A limit keeps its counter if its amount changes, or
// if the end of its day or month moves.
std::string MeterName(const Limit& limit);
// Returns the last part of MeterName as a number: the date, or the length, which is in nanoseconds here.
inline int64_t LengthOrDate(const Limit& limit) { return IsOfCalendar(limit) ? limit.date : limit.per.count(); }
// Returns a text such as "100 requests in 1 h", "100 tokens/h, at most 200 at once", "12.50 of money in a calendar
// month" or "5 calls at once".
std::string Describe(const Limit& limit);

}  // namespace weir
