#include "relay/plugins/question_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {

void QuestionQueue::Push(PendingQuestion question) {
  oldest_ = std::min(oldest_, question.asked);
  const uint64_t address = question.question.address;
  const auto [entry, is_new] = lines_.try_emplace(address);
  Line& line = entry->second;
  if (is_new) {
    line.address = address;
    turns_.Add(line);
  }
  auto place = line.questions.end();
  while (place != line.questions.begin() && std::prev(place)->asked > question.asked) --place;
  line.questions.insert(place, std::move(question));
  WaitOn(line);
}

PendingQuestion QuestionQueue::Pop() {
  auto& line = static_cast<Line&>(turns_.Next());
  PendingQuestion question = std::move(line.questions.front());
  line.questions.pop_front();
  const uint64_t bytes = question.question.line.size();
  turns_.Begin(line, bytes);
  if (!line.questions.empty()) WaitOn(line);
  turns_.End(line, bytes, bytes);
  ForgetLines();
  if (empty()) oldest_ = TimePoint::max();
  return question;
}

std::vector<OnPluginVerdict> QuestionQueue::TakeAskedUntil(TimePoint time) {
  std::vector<OnPluginVerdict> taken;
  if (oldest_ > time) return taken;
  oldest_ = TimePoint::max();
  for (auto& [address, line] : lines_) {
    std::deque<PendingQuestion>& questions = line.questions;
    if (questions.empty()) continue;  // the line is remembered for what it was served
    for (; !questions.empty() && questions.front().asked <= time; questions.pop_front())
      taken.push_back(std::move(questions.front().settled));
    if (questions.empty()) {
      turns_.GiveUp(line);
    } else {
      oldest_ = std::min(oldest_, questions.front().asked);
      WaitOn(line);
    }
  }
  ForgetLines();
  return taken;
}

void QuestionQueue::ForgetLines() {
  turns_.ForgetThoseAway([this](FairLine& away) { lines_.erase(uint64_t{static_cast<Line&>(away).address}); });
}

}  // namespace weir
