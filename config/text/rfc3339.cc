#include "config/text/rfc3339.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "config/text/hex.h"

namespace weir {
namespace {

namespace ch = std::chrono;

// Reads a text from its front; after the first mismatch it reads nothing more.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  int Number(size_t digits, int most) {
    int number = 0;
    ok_ = ok_ && rest_.size() >= digits;
    for (size_t i = 0; ok_ && i < digits; ++i) {
      ok_ = IsDigit(rest_[i]);
      number = number * 10 + (rest_[i] - '0');
    }
    ok_ = ok_ && number <= most;
    if (ok_) rest_.remove_prefix(digits);
    return ok_ ? number : 0;
  }
  char OneOf(std::string_view characters) {
    ok_ = ok_ && !rest_.empty() && characters.find(rest_.front()) != characters.npos;
    if (!ok_) return '\0';
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  // Reads the 1 to 9 digits after a point; 0 if there is no point.
  int Nanoseconds() {
    if (!ok_ || rest_.empty() || rest_.front() != '.') return 0;
    rest_.remove_prefix(1);
    int number = 0;
    size_t digits = 0;
    for (; digits < 9 && digits < rest_.size() && IsDigit(rest_[digits]); ++digits)
      number = number * 10 + (rest_[digits] - '0');
    ok_ = digits > 0;
    rest_.remove_prefix(digits);
    for (; digits < 9; ++digits) number *= 10;
    return number;
  }
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Moment {
  ch::sys_seconds second;
  Duration fraction;
};

std::optional<Moment> Read(std::string_view text) {
  Reader reader(text);
  const int year = reader.Number(4, 9999);
  (void)reader.OneOf("-");
  const int month = reader.Number(2, 12);
  (void)reader.OneOf("-");
  const int day = reader.Number(2, 31);
  (void)reader.OneOf("Tt ");
  const int hours = reader.Number(2, 23);
  (void)reader.OneOf(":");
  const int minutes = reader.Number(2, 59);
  (void)reader.OneOf(":");
  const int seconds = reader.Number(2, 60);  // a leap second counts as the next second
  const int nanoseconds = reader.Nanoseconds();
  const char zone = reader.OneOf("Zz+-");
  ch::minutes offset{0};
  if (zone == '+' || zone == '-') {
    offset = ch::hours(reader.Number(2, 23));
    (void)reader.OneOf(":");
    offset += ch::minutes(reader.Number(2, 59));
    if (zone == '-') offset = -offset;
  }
  const ch::year_month_day date(ch::year(year), ch::month(static_cast<unsigned>(month)),
                                ch::day(static_cast<unsigned>(day)));
  if (!reader.AtEnd() || !date.ok()) return {};
  return Moment{.second = ch::sys_days(date) + ch::hours(hours) + ch::minutes(minutes) + ch::seconds(seconds) - offset,
                .fraction = Duration(nanoseconds)};
}

}  // namespace

std::string FormatTime(WallTime time) {
  const auto day = ch::floor<ch::days>(time);
  const ch::year_month_day date(day);
  const ch::hh_mm_ss<Duration> clock(time - day);
  std::array<char, 64> buffer;
  const int size =
      std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%09d", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                    static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  std::string text(buffer.data(), static_cast<size_t>(size));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "Z";
}

std::optional<WallTime> ParseTime(std::string_view text) {
  const std::optional<Moment> read = Read(text);
  if (!read) return {};
  const ch::year_month_day date(ch::floor<ch::days>(read->second));
  if (date.year() < ch::year(1678) || date.year() > ch::year(2261)) return {};
  return WallTime(read->second) + read->fraction;
}

std::optional<ch::sys_seconds> ParseSecond(std::string_view text) {
  const std::optional<Moment> read = Read(text);
  return read ? std::optional(read->second) : std::nullopt;
}

}  // namespace weir
