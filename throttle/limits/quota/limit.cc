#include "throttle/limits/quota/limit.h"

#include <array>
#include <chrono>
#include <string_view>

namespace weir {
namespace {

using std::chrono::milliseconds;

struct Length {
  int64_t count;
  std::string_view unit;
};

// Returns the length as a whole number of the largest possible unit.
Length LengthOf(Duration per) {
  static constexpr std::array<Length, 4> kUnits = {
      Length{86'400'000, "days"}, {3'600'000, "h"}, {60'000, "min"}, {1000, "s"}};
  const int64_t ms = std::chrono::duration_cast<milliseconds>(per).count();
  for (const Length& unit : kUnits)
    if (ms > 0 && ms % unit.count == 0) return {ms / unit.count, unit.unit};
  return {ms, "ms"};
}

std::string UnitText(const Limit& limit) {
  if (limit.unit == Limit::Unit::kMoney) return "of money";
  std::string text(NameOf(limit.unit));
  if (limit.amount == 1) text.pop_back();
  return text;
}

}  // namespace

std::string_view NameOf(Limit::Unit unit) {
  static constexpr std::array<std::string_view, kQuotaUnits> kNames = {"requests", "tokens", "money", "calls"};
  return kNames[static_cast<size_t>(unit)];
}

std::string AmountText(Limit::Unit unit, int64_t amount) {
  if (unit != Limit::Unit::kMoney) return std::to_string(amount);
  std::string millionths = std::to_string(kMoneyUnit + amount % kMoneyUnit).substr(1);
  while (millionths.size() > 2 && millionths.back() == '0') millionths.pop_back();
  return std::to_string(amount / kMoneyUnit) + "." + millionths;
}

std::string MeterName(const Limit& limit) {
  static constexpr std::array<std::string_view, kQuotaUnits> kLetters = {"r", "t", "m", "c"};
  std::string name(kLetters[static_cast<size_t>(limit.unit)]);
  if (limit.kind == Limit::Kind::kBucket) name += 'b';
  if (limit.kind == Limit::Kind::kCalendarDay) name += 'd';
  if (limit.kind == Limit::Kind::kCalendarMonth) name += 'm';
  return name +
         std::to_string(IsOfCalendar(limit) ? limit.date : std::chrono::duration_cast<milliseconds>(limit.per).count());
}

std::string Describe(const Limit& limit) {
  std::string text = AmountText(limit.unit, limit.amount) + " " + UnitText(limit);
  if (limit.unit == Limit::Unit::kCalls) return text + " at once";
  if (IsOfCalendar(limit)) return text.append(" in a calendar ").append(PeriodOf(limit));
  Length length = LengthOf(limit.per);
  if (length.count == 1 && length.unit == "days") length.unit = "day";
  const std::string count = std::to_string(length.count) + " ";
  if (limit.kind == Limit::Kind::kWindow) return text + " in " + count + std::string(length.unit);
  return text + "/" + (length.count == 1 ? "" : count) + std::string(length.unit) + ", at most " +
         AmountText(limit.unit, limit.burst) + " at once";
}

}  // namespace weir
