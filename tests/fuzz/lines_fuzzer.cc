// Lines of an import. Cut into chunks at any place, each line comes once and whole, and is judged as by a slow reader.
// The first byte says how the text is cut, the second how long a line may be.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "config/manual_clock.h"
#include "import/line_judge.h"
#include "tests/fuzz/target.h"
#include "tests/import/input/split_lines.h"
#include "tests/relay/nostr/reference_event.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;
constexpr uint64_t kMostAhead = 900;

// Ignores signatures, because no mutation gets them right.
LineOutcome Expected(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find_first_not_of(" \t\r") == line.npos) return LineOutcome::kBlank;
  const std::optional<ReferenceEvent> event = ReadReferenceEvent(line);
  if (!event || !event->HasItsId()) return LineOutcome::kInvalid;
  if (event->kind >= 20'000 && event->kind < 30'000) return LineOutcome::kNotStored;
  if (event->created_at > kNow + kMostAhead) return LineOutcome::kFuture;
  for (const auto& tag : event->tags) {
    if (tag.size() < 2 || tag[0] != "expiration" || !IsWholeNumber(tag[1])) continue;
    return std::strtoull(tag[1].c_str(), nullptr, 10) <= kNow ? LineOutcome::kExpired : LineOutcome::kImported;
  }
  return LineOutcome::kImported;
}

Tally ExpectedTally(const std::string& text) {
  Tally tally;
  std::string_view rest = text;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> lines = LinesOf(std::string(rest));
  // If a byte order mark is the whole input, it counts as a blank line.
  if (lines.empty() && !text.empty()) lines.emplace_back("\n");
  for (const std::string& line : lines) ++tally[Expected(line)];
  tally.bytes = text.size();
  return tally;
}

void Check(std::string_view input) {
  const size_t step = 1 + TakeByte(&input);
  const SplitterLimits limits{.chunk_bytes = 64 + 16 * step, .max_line_bytes = size_t{16} * TakeByte(&input)};
  const std::string text(input);
  CheckLines(text, limits, Split(text, limits, {step}), {});

  static const ManualWallClock clock(kNow);
  LineJudge judge({.max_future_s = kMostAhead, .verify = false}, nullptr, clock);
  Tally judged;
  for (Chunk& chunk : Split(text, {.chunk_bytes = limits.chunk_bytes}, {step})) {
    const JudgedChunk one = judge.Judge(std::move(chunk));
    judged += one.settled.tally;
    // Events have no outcome yet.
    judged[LineOutcome::kImported] += one.events.size();
  }
  const Tally expected = ExpectedTally(text);
  Must(judged.lines == expected.lines, text);
  Must(judged.bytes == expected.bytes);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
