#include "relay/plugins/plugin_dialogue.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <iterator>
#include <utility>

#include "config/text/json_scanner.h"

namespace weir {

void Settle(const OnPluginVerdict& settled, PluginVerdict verdict) {
  try {
    settled(std::move(verdict));
  } catch (const std::exception& fault) {
    spdlog::error("the answer of a plugin could not be used: {}", fault.what());
  }
}

void PluginDialogue::Ask(PendingQuestion question) {
  if (questions_.empty()) silent_since_ = question.asked;
  questions_.push_back({std::move(question)});
  const Place place = std::prev(questions_.end());
  by_id_.emplace(IdOf(place), place);
  place->by_time = unsettled_.emplace(place->asked, place);
  if (unsent_ == questions_.end()) unsent_ = place;
}

bool PluginDialogue::has_room() const {
  size_t unsent = 0;
  for (auto place = Questions::const_iterator(unsent_); place != questions_.end() && unsent < kEnoughUnsent; ++place)
    unsent += place->question.line.size();
  return unsent < kEnoughUnsent;
}

size_t PluginDialogue::NextOutput(std::span<iovec> pieces) {
  size_t filled = 0;
  for (Place place = unsent_; place != questions_.end() && filled < pieces.size(); ++place) {
    std::string& line = place->question.line;
    const size_t skipped = place == unsent_ ? written_ : 0;
    pieces[filled++] = {.iov_base = line.data() + skipped, .iov_len = line.size() - skipped};
  }
  return filled;
}

// Frees the lines that are written. The line of an overdue question is among them: its rest had to follow its
// beginning.
void PluginDialogue::NoteWritten(size_t bytes) {
  while (bytes > 0) {
    std::string& line = unsent_->question.line;
    const size_t left = line.size() - written_;
    if (bytes < left) {
      written_ += bytes;
      return;
    }
    bytes -= left;
    written_ = 0;
    line = std::string();
    ++unsent_;
  }
}

void PluginDialogue::Hear(std::string_view bytes, TimePoint now) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    const bool fits = line_.size() + piece.size() <= kMostLine;
    if (!fits && !skips_line_) {
      skips_line_ = true;
      line_ = std::string();
      health_.NoteFault(PluginFault::kGarbage, "wrote a line of more than " + std::to_string(kMostLine) + " bytes");
    }
    if (end == std::string_view::npos) {
      if (!skips_line_) line_.append(piece);
      return;
    }
    if (!std::exchange(skips_line_, false)) {
      if (line_.empty()) {
        HearLine(piece, now);
      } else {
        HearLine(line_.append(piece), now);
        line_.clear();
      }
    }
  }
}

// Ignores empty lines.
void PluginDialogue::HearLine(std::string_view line, TimePoint now) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  Result<PluginAnswer> parsed = ParsePluginAnswer(line);
  if (!parsed.ok()) {
    return health_.NoteFault(PluginFault::kGarbage,
                             "wrote a line that is no answer: " + parsed.status().message() + ": " + Shown(line));
  }
  PluginAnswer answer = std::move(parsed).value();
  const Place place = QuestionOf(answer.id);
  if (place == questions_.end()) {
    return health_.NoteFault(PluginFault::kUnasked, "answered a question that is not under way: " + Shown(line));
  }
  ++answers_;
  silent_since_ = now;
  const OnPluginVerdict settled = std::move(place->settled);
  if (!IsOverdue(place)) health_.NoteAnswer(answer.action, now - place->asked);
  Forget(place);
  if (!settled) return;
  PluginVerdict verdict{.action = answer.action, .refusal = {}};
  if (answer.action == PluginAction::kReject) verdict.refusal = RefusalByPlugin(answer.message);
  Settle(settled, std::move(verdict));
}

// Returns the question that an answer with this id answers; questions_.end() if there is none. A process cannot answer
// a question of which it has not read the end. A question that is not settled goes first, because the plugin may have
// lost the one whose time is over, and would then never again answer in time about an event that is sent again.
PluginDialogue::Place PluginDialogue::QuestionOf(std::string_view id) {
  Place found = questions_.end();
  const auto [begin, end] = by_id_.equal_range(id);
  for (auto at = begin; at != end && at->second->question.line.empty(); ++at) {
    if (!IsOverdue(at->second)) return at->second;
    if (found == questions_.end()) found = at->second;
  }
  return found;
}

// Returns the first question of which no byte is written.
PluginDialogue::Place PluginDialogue::FirstUnbegun() { return written_ > 0 ? std::next(unsent_) : unsent_; }

void PluginDialogue::Forget(Place place) {
  auto [at, end] = by_id_.equal_range(IdOf(place));
  while (at != end && at->second != place) ++at;
  by_id_.erase(at);
  if (!IsOverdue(place)) unsettled_.erase(place->by_time);
  if (place == unsent_) {
    ++unsent_;
    written_ = 0;
  }
  questions_.erase(place);
}

std::vector<OnPluginVerdict> PluginDialogue::TakeAskedUntil(TimePoint time) {
  std::vector<OnPluginVerdict> taken;
  while (oldest() <= time && !unsettled_.empty()) {
    const Place place = unsettled_.begin()->second;
    taken.push_back(std::exchange(place->settled, nullptr));
    unsettled_.erase(place->by_time);
    place->by_time = unsettled_.end();
  }
  if (taken.empty()) return taken;
  for (Place next = FirstUnbegun(); next != questions_.end();) {
    const Place place = next++;
    if (IsOverdue(place)) Forget(place);
  }
  return taken;
}

std::vector<PendingQuestion> PluginDialogue::TakeUnsent() {
  std::vector<PendingQuestion> taken;
  for (Place next = FirstUnbegun(); next != questions_.end(); Forget(next++)) {
    if (!IsOverdue(next)) {
      PluginQuestion question{
          .id = next->question.id, .line = std::move(next->question.line), .address = next->question.address};
      taken.push_back({std::move(question), std::move(next->settled), next->asked});
    }
  }
  return taken;
}

std::vector<OnPluginVerdict> PluginDialogue::TakeAll() {
  std::vector<OnPluginVerdict> taken;
  for (; !questions_.empty(); Forget(questions_.begin())) {
    if (!IsOverdue(questions_.begin())) taken.push_back(std::move(questions_.front().settled));
  }
  return taken;
}

}  // namespace weir
