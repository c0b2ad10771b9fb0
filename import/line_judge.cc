#include "import/line_judge.h"

#include <algorithm>
#include <utility>

#include "import/input/line_splitter.h"
#include "relay/nostr/expiration.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr uint16_t kAuth = 22242;  // also ephemeral, but better known by its name
// The smallest event has about 330 bytes, and a usual event twice as many.
constexpr size_t kUsualEvent = 512;

std::string_view WithoutLineEnd(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

LineJudge::LineJudge(const JudgeOptions& options, const EventStore* store, const WallClock& clock)
    : options_(options), store_(store), clock_(clock), parser_(options.limits) {}

JudgedChunk LineJudge::Judge(Chunk chunk) {
  JudgedChunk judged;
  SettledChunk& settled = judged.settled;
  settled.chunk = std::move(chunk);
  settled.tally.bytes = settled.chunk.text.size();
  now_seconds_ = clock_.NowSeconds();
  if (settled.chunk.kind == Chunk::Kind::kLines) {
    JudgeLines(&judged);
  } else if (settled.chunk.first_piece) {
    const std::string_view text = settled.chunk.text;
    ++settled.tally[LineOutcome::kTooLong];
    settled.rejects.push_back({.line = settled.chunk.begin.lines + 1,
                               .size = text.size() - (text.ends_with('\n') ? 1 : 0),
                               .outcome = LineOutcome::kTooLong,
                               .reason = "the line has more than " + std::to_string(MaxLineBytes(options_.limits)) +
                                         " bytes; an event may have at most " +
                                         std::to_string(options_.limits.max_bytes)});
  }
  return judged;
}

void LineJudge::JudgeLines(JudgedChunk* judged) {
  SettledChunk& settled = judged->settled;
  const std::string_view text = settled.chunk.text;
  judged->events.reserve(text.size() / kUsualEvent + 1);
  std::vector<Place> places;  // the lines of judged->events
  size_t begin = settled.chunk.begin.bytes == 0 && text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  uint64_t number = settled.chunk.begin.lines;
  // A byte order mark without any text behind it counts as a blank line.
  for (bool first = begin > 0; first || begin < text.size(); first = false) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const Place place{++number, begin, end - begin};
    if (std::optional<Verdict> verdict = JudgeLine(WithoutLineEnd(text.substr(begin, end - begin)), judged)) {
      Settle(place, std::move(*verdict), &settled);
    } else {
      places.push_back(place);
    }
    begin = end + 1;
  }
  JudgeSignatures(places, judged);
  std::ranges::sort(settled.rejects, {}, &Reject::line);
}

void LineJudge::Settle(const Place& place, Verdict verdict, SettledChunk* settled) {
  ++settled->tally[verdict.outcome];
  if (!IsRejected(verdict.outcome)) return;
  settled->rejects.push_back({.line = place.number,
                              .begin = place.begin,
                              .size = place.size,
                              .outcome = verdict.outcome,
                              .reason = std::move(verdict.reason)});
}

// If the store cannot be read, verifies every signature; the save that follows then reports the error.
void LineJudge::JudgeSignatures(const std::vector<Place>& places, JudgedChunk* judged) {
  std::vector<bool> stored(places.size());
  if (store_ != nullptr && !places.empty()) {
    std::vector<EventView> views;
    for (const Event& event : judged->events) views.push_back(event.view());
    if (Result<std::vector<bool>> found = store_->StoredSigned(views); found.ok()) stored = std::move(found).value();
  }
  size_t kept = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const EventView event = judged->events[i].view();
    if (!stored[i] && options_.verify && !VerifySignature(event)) {
      Settle(places[i], {LineOutcome::kSignature, "the signature is not its author's"}, &judged->settled);
      continue;
    }
    if (!stored[i]) judged->new_bytes += event.record().size();
    if (kept != i) judged->events[kept] = std::move(judged->events[i]);
    ++kept;
  }
  judged->events.erase(judged->events.begin() + static_cast<std::ptrdiff_t>(kept), judged->events.end());
}

std::optional<LineJudge::Verdict> LineJudge::JudgeLine(std::string_view line, JudgedChunk* judged) {
  if (IsBlank(line)) return Verdict{LineOutcome::kBlank, ""};
  Result<Event> parsed = parser_.Parse(line);
  if (!parsed.ok()) return Verdict{LineOutcome::kInvalid, parsed.status().message()};
  const EventView event = parsed.value().view();
  if (std::optional<Verdict> verdict = JudgeEvent(event)) return verdict;
  judged->events.push_back(std::move(parsed).value());
  return std::nullopt;
}

// Judges everything but the signature, which is the most expensive check.
std::optional<LineJudge::Verdict> LineJudge::JudgeEvent(EventView event) const {
  const uint16_t kind = event.kind();
  if (kind == kAuth) return Verdict{LineOutcome::kNotStored, "events of kind 22242 (AUTH) are not stored"};
  if (ClassOf(kind) == KindClass::kEphemeral) {
    return Verdict{LineOutcome::kNotStored, "events of kind " + std::to_string(kind) + " are ephemeral, not stored"};
  }
  if (event.created_at() > now_seconds_ && event.created_at() - now_seconds_ > options_.max_future_s) {
    return Verdict{LineOutcome::kFuture, "created_at is " + std::to_string(event.created_at() - now_seconds_) +
                                             " s in the future; " + std::to_string(options_.max_future_s) +
                                             " s are allowed"};
  }
  if (IsExpired(event, now_seconds_)) return Verdict{LineOutcome::kExpired, ""};
  return std::nullopt;
}

}  // namespace weir
