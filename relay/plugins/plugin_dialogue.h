// PluginDialogue: the questions that one process of a policy plugin was asked, the bytes to write to it, and the
// answers in the bytes that it has written. It has no descriptors and no thread.
//
// Answers may come in any order. If several questions with one id are under way, each answer with this id belongs to
// the oldest of them that is not settled. A question whose time is over is settled without an answer; the dialogue then
// remembers only its id, so that an answer that comes late is not taken for a fault.
//
// Bounds: a question's line is held until it is written or the question is settled, so its bytes belong to the budget
// of the caller; only a line that is partly written is held until its end is written. The dialogue holds at most
// kMostLine bytes of the process's output.
//
// Not thread-safe.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "relay/plugins/plugin_health.h"
#include "relay/plugins/plugin_lines.h"

namespace weir {

// The outcome of a question.
struct PluginVerdict {
  PluginAction action = PluginAction::kReject;
  std::string refusal;   // the text for the client, with its prefix, if the action is kReject
  bool answered = true;  // false if the relay has decided, because the plugin gave no answer
};
using OnPluginVerdict = std::function<void(PluginVerdict verdict)>;
// Calls `settled`. Logs an exception, such as a lack of memory, because the plugin's thread must go on.
void Settle(const OnPluginVerdict& settled, PluginVerdict verdict);

struct PendingQuestion {
  PluginQuestion question;
  OnPluginVerdict settled;  // called once
  TimePoint asked;
};

class PluginDialogue {
 public:
  // The longest answer, in bytes. The rest of a longer line is dropped as it comes, and the line counts as garbage.
  static constexpr size_t kMostLine = 16 << 10;
  static constexpr size_t kEnoughUnsent = 8 << 10;

  // `health` must outlive the dialogue.
  explicit PluginDialogue(PluginHealth& health) : health_(health) {}

  void Ask(PendingQuestion question);

  bool has_output() const { return unsent_ != questions_.end(); }
  // Returns true if the process should be given more questions, because fewer than kEnoughUnsent bytes wait for its
  // pipe.
  bool has_room() const;
  // Fills `pieces` with the bytes to write next. Returns the number of pieces that it has filled.
  size_t NextOutput(std::span<iovec> pieces);
  // Notes that this many of these bytes are written.
  void NoteWritten(size_t bytes);
  // Takes bytes that the process has written, and settles the questions that they answer.
  void Hear(std::string_view bytes, TimePoint now);

  // Returns the callbacks of the questions that were asked at `time` or before, for the caller to settle them, and
  // forgets all but their ids.
  std::vector<OnPluginVerdict> TakeAskedUntil(TimePoint time);
  // Returns the time of the oldest question that is not settled; TimePoint::max() if there is none.
  TimePoint oldest() const { return unsettled_.empty() ? TimePoint::max() : unsettled_.begin()->first; }
  // For the end of the process: TakeUnsent forgets the questions of which no byte is written and returns them; TakeAll
  // forgets all questions and returns the callbacks of those that are not settled.
  std::vector<PendingQuestion> TakeUnsent();
  std::vector<OnPluginVerdict> TakeAll();

  // The questions that the process has not answered, including those whose time is over.
  size_t owed() const { return questions_.size(); }
  // The number of these whose time is over.
  size_t overdue() const { return questions_.size() - unsettled_.size(); }
  uint64_t answers() const { return answers_; }  // answers to questions so far
  // Returns the time since which the process owes answers and has given none; TimePoint::max() if it owes none.
  TimePoint silent_since() const { return questions_.empty() ? TimePoint::max() : silent_since_; }

 private:
  struct Question;
  using Questions = std::list<Question>;
  using Place = Questions::iterator;
  using ByTime = std::multimap<TimePoint, Place>;
  struct Question : PendingQuestion {
    ByTime::iterator by_time = {};  // unsettled_.end() if its time is over
  };

  void HearLine(std::string_view line, TimePoint now);
  Place QuestionOf(std::string_view id);
  Place FirstUnbegun();
  void Forget(Place place);
  bool IsOverdue(Place place) const { return place->by_time == unsettled_.end(); }
  std::string_view IdOf(Place place) const { return place->question.id; }

  PluginHealth& health_;
  Questions questions_;                           // in the order in which they are written
  Place unsent_ = questions_.end();               // the first question that is not written to its end
  ByTime unsettled_;                              // the questions whose time is not over, by when they were asked
  size_t written_ = 0;                            // the bytes of *unsent_ that are written
  std::multimap<std::string_view, Place> by_id_;  // equal ids in the order in which they are written
  std::string line_;                              // the beginning of a line whose end has not come yet
  bool skips_line_ = false;                       // true until the end of a line that is too long
  uint64_t answers_ = 0;
  TimePoint silent_since_{};
};

}  // namespace weir
