// QuestionQueue: the questions of a policy plugin that no process was given yet. Client addresses take turns by the
// bytes of their questions (throttle/fair_turns.h), so an address with many questions waits behind its own. The
// questions of one address keep their order.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "config/clock.h"
#include "relay/plugins/plugin_dialogue.h"
#include "throttle/fair_turns.h"

namespace weir {

class QuestionQueue {
 public:
  bool empty() const { return turns_.empty(); }
  // Adds a question, behind those of its address that were asked no later.
  void Push(PendingQuestion question);
  // Removes the question whose turn it is. REQUIRES: the queue is not empty.
  PendingQuestion Pop();

  // Removes the questions that were asked at `time` or before, and returns their callbacks.
  std::vector<OnPluginVerdict> TakeAskedUntil(TimePoint time);
  // Returns the number of addresses that have questions, or are remembered for those that they had.
  size_t addresses() const { return lines_.size(); }
  // Returns a time no later than that of the oldest question; TimePoint::max() if the queue is empty.
  TimePoint oldest() const { return oldest_; }

 private:
  struct Line : FairLine {
    uint64_t address = 0;
    std::deque<PendingQuestion> questions;  // by the time at which they were asked
  };

  void WaitOn(Line& line) { turns_.Wait(line, line.questions.front().question.line.size()); }
  void ForgetLines();

  std::unordered_map<uint64_t, Line> lines_;  // by PluginQuestion::address
  FairTurns turns_;
  TimePoint oldest_ = TimePoint::max();
};

}  // namespace weir
