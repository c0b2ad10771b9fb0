#include "relay/store/moment_text.h"

#include <limits>
#include <vector>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr double kMostOrigin = std::numeric_limits<uint32_t>::max();
constexpr double kMostSerial = 9e15;

}  // namespace

std::string ToText(const Moment& moment) {
  const std::vector<Serial>& last = moment.last();
  if (last.empty()) return "0";
  if (last.size() == 1 && last.front().origin == 0) return std::to_string(last.front().number);
  std::string text;
  for (const Serial& serial : last)
    text += (text.empty() ? "" : ",") + std::to_string(serial.origin) + ":" + std::to_string(serial.number);
  return text;
}

Result<Moment> ParseSerials(std::string_view text) {
  const Status wrong = Status::Error("\"" + Printable(text) + "\" is no number that an export has printed");
  Moment moment;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const size_t colon = part.find(':');
    const bool has_origin = colon != part.npos;
    const Result<uint64_t> origin =
        ParseUnsigned(has_origin ? part.substr(0, colon) : "0", {.min = 0, .max = kMostOrigin});
    const Result<uint64_t> number =
        ParseUnsigned(has_origin ? part.substr(colon + 1) : part, {.min = 0, .max = kMostSerial});
    if (!origin.ok() || !number.ok() || (!has_origin && part.size() < text.size())) return wrong;
    if (number.value() > 0) moment.Advance({.origin = static_cast<uint32_t>(origin.value()), .number = number.value()});
    begin = end + 1;
  }
  return moment;
}

}  // namespace weir
