#include "relay/watch/top/plain_line.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "config/text/readable.h"
#include "config/text/rfc3339.h"

namespace weir {
namespace {

using enum LiveFigure;

std::string Number(float number, int decimals) {
  return std::isnan(number) ? "-" : Fixed(std::clamp(double{number}, -1e15, 1e15), decimals);
}
std::string Milliseconds(float seconds) { return std::isnan(seconds) ? "-" : Number(seconds * 1e3F, 1) + "ms"; }
std::string Megabytes(float bytes) { return Number(bytes / 1e6F, 0); }

// Replaces the blanks in a text, because a text with blanks would be several columns.
std::string Word(std::string text) {
  std::ranges::replace(text, ' ', '-');
  return text.empty() ? "-" : text;
}

std::string Second(double at) {
  return FormatTime(WallTime(std::chrono::seconds(std::llround(std::floor(std::max(at, 0.0))))));
}

}  // namespace

std::string PlainLine(const FeedState& state, Charset charset) {
  const LiveRow& now = state.now;
  const auto work = [&now](const char* name, LiveFigure level, LiveFigure setpoint, LiveFigure admitted,
                           LiveFigure refused, LiveFigure delay) {
    return std::string(" ") + name + " " + Number(now[level], 2) + "/" + Number(now[setpoint], 2) + " " +
           Number(now[admitted], 1) + " " + Number(now[refused], 1) + " " + Milliseconds(now[delay]);
  };
  std::string line = Second(now.at) + " " + Word(state.mood);
  line += work("write", kLevelWrite, kSetpointWrite, kAdmittedWrite, kRefusedWrite, kDelayWrite);
  line += work("bulk", kLevelBulk, kSetpointBulk, kAdmittedBulk, kRefusedBulk, kDelayBulk);
  line += work("read", kLevelRead, kSetpointRead, kAdmittedRead, kRefusedRead, kDelayRead);
  line += " ok " + Milliseconds(now[kOkP50]) + "/" + Milliseconds(now[kOkP99]);
  line += " eose " + Milliseconds(now[kEoseP50]) + "/" + Milliseconds(now[kEoseP99]);
  line += " open " + Number(now[kConnections], 0) + "/" + Number(now[kSubscriptions], 0);
  line += " memory " + Megabytes(now[kMemory]) + "/" + Megabytes(now[kMemoryTarget]);
  line += " cpu " + Number(now[kCpu], 2) + " " + state.summary;
  return ShownText(line, charset);
}

}  // namespace weir
