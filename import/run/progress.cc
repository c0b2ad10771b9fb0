#include "import/run/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "config/text/readable.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

// The bar takes a quarter of the terminal's width; a narrow terminal shows only the numbers.
constexpr size_t kNarrowestForABar = 70;
constexpr size_t kWidestBar = 42;
// The longest estimate that is shown, in seconds.
constexpr double kLongestRemaining = 100 * 3600.0;

double Share(const ProgressNumbers& progress) {
  return std::min(1.0, static_cast<double>(progress.input_bytes) / static_cast<double>(progress.total_bytes));
}

// Returns "41 %", rounded down: shows 100 % only when all bytes are settled.
std::string PartDone(const ProgressNumbers& progress) {
  return std::to_string(static_cast<int>(std::floor(Share(progress) * 100))) + " %";
}

std::string Speed(double per_second) { return ShortNumber(RoundedCount(per_second)) + "/s"; }

// Returns the load, and the signal that limits the import if there is one: "load 0.62 (l0)".
std::string Level(const ImportConditions& conditions) {
  std::string text = "load " + Fixed(conditions.level, 2);
  if (!conditions.limiting.empty()) text.append(" (").append(conditions.limiting).append(")");
  return text;
}

struct Piece {
  int weight;  // the piece with the lowest weight is left out first
  std::string text;
};

std::vector<Piece> PiecesOf(const ProgressNumbers& progress) {
  const ImportConditions& conditions = progress.conditions;
  const bool sized = progress.total_bytes > 0;
  std::vector<Piece> parts;
  if (sized)
    parts.push_back({9, PartDone(progress).insert(0, Share(progress) < 0.1 ? "  " : Share(progress) < 1 ? " " : "")});
  if (!conditions.problem.empty()) {
    parts.push_back({10, "waiting: " + AsText(conditions.problem)});
    return parts;
  }
  parts.push_back({7, ShortNumber(progress.tally.events()) + " events"});
  parts.push_back({6, Speed(progress.events_per_s)});
  const std::string done = ReadableBytes(sized ? progress.input_bytes : progress.tally.bytes);
  parts.push_back({2, sized ? done + " of " + ReadableBytes(progress.total_bytes) : done});
  if (const auto remaining = Remaining(progress)) parts.push_back({5, "ETA " + ClockTime(*remaining)});
  parts.push_back({4, Level(conditions)});
  parts.push_back({3, "delay " + ShortTime(conditions.delay)});
  if (const uint64_t rejected = progress.tally.rejected(); rejected > 0)
    parts.push_back({1, ShortNumber(rejected) + " rejected"});
  return parts;
}

std::string Joined(const std::vector<Piece>& parts) {
  std::string text;
  for (const Piece& part : parts) text.append(text.empty() ? "" : "  ").append(part.text);
  return text;
}

std::string Bar(double share, size_t width) {
  const size_t inner = width - 2;
  const auto full = static_cast<size_t>(share * static_cast<double>(inner));
  std::string bar(full, '=');
  if (full < inner) bar += '>';
  bar.resize(inner, ' ');
  return "[" + bar + "]";
}

}  // namespace

std::optional<Duration> Remaining(const ProgressNumbers& progress) {
  if (progress.total_bytes == 0 || progress.bytes_per_s <= 0) return std::nullopt;
  const uint64_t left = progress.total_bytes - std::min(progress.total_bytes, progress.input_bytes);
  const double seconds = static_cast<double>(left) / progress.bytes_per_s;
  if (seconds > kLongestRemaining) return std::nullopt;
  return FromSeconds(seconds);
}

// The bar's width depends only on the terminal, so that nothing moves when the numbers change.
std::string ProgressBar(const ProgressNumbers& progress, size_t columns) {
  std::string bar;
  if (progress.total_bytes > 0 && columns >= kNarrowestForABar)
    bar = Bar(Share(progress), std::min(columns / 4, kWidestBar)) + "  ";
  const size_t room = columns - bar.size();
  std::vector<Piece> parts = PiecesOf(progress);
  std::string text = Joined(parts);
  while (CharactersIn(text) > room && parts.size() > 1) {
    parts.erase(std::ranges::min_element(parts, {}, &Piece::weight));
    text = Joined(parts);
  }
  bar += FirstCharacters(text, room);
  return bar;
}

std::string ProgressLine(const ProgressNumbers& progress) {
  const ImportConditions& conditions = progress.conditions;
  std::string line = "import: " + std::to_string(progress.tally.events()) + " events, " + Speed(progress.events_per_s) +
                     ", load=" + Fixed(conditions.level, 2);
  if (!conditions.limiting.empty()) line.append(" (").append(conditions.limiting).append(")");
  line += ", latency=" + ShortTime(conditions.latency) + ", throttled " + std::to_string(conditions.throttled) +
          " times (" + ShortTime(conditions.throttled_time) + " total)";
  if (const uint64_t rejected = progress.tally.rejected(); rejected > 0)
    line += ", " + std::to_string(rejected) + " rejected";
  if (progress.total_bytes > 0) line += ", " + PartDone(progress);
  if (const auto remaining = Remaining(progress)) line += ", ETA " + ClockTime(*remaining);
  if (!conditions.problem.empty()) line += ", waiting: " + AsText(conditions.problem);
  return line;
}

// Keeps one sample that is older than the span, so that the samples cover the whole span.
void RateWindow::Add(TimePoint now, uint64_t events, uint64_t bytes) {
  samples_.push_back({now, events, bytes});
  while (samples_.size() > 2 && samples_[1].time <= now - kSpan) samples_.pop_front();
}

double RateWindow::PerSecond(uint64_t Sample::*what) const {
  if (samples_.size() < 2 || samples_.back().time == samples_.front().time) return 0;
  const uint64_t before = samples_.front().*what;
  const auto grown = static_cast<double>(std::max(samples_.back().*what, before) - before);
  return grown / ToSeconds(samples_.back().time - samples_.front().time);
}

double RateWindow::events_per_s() const { return PerSecond(&Sample::events); }
double RateWindow::bytes_per_s() const { return PerSecond(&Sample::bytes); }

}  // namespace weir
