// ProgressDisplay: shows the progress of an import or an export. On a terminal it redraws one line five times a second;
// in a log it writes a line every five seconds. It prints one line when a problem begins and one when the problem ends.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "import/run/progress.h"

namespace weir {

// Returns true if standard error is a terminal on which a line can be redrawn (config/terminal_size.h).
bool CanDrawLines();
// Returns the width of the terminal behind standard error; 80 if it is not known.
size_t Columns();
void WriteToStandardError(std::string_view text);

struct ProgressDisplayParts {
  // kBar: one line that is redrawn on a terminal. kLines: lines of a log. kNone: nothing is shown.
  enum class Style : uint8_t { kBar, kLines, kNone };

  Style style = Style::kLines;
  std::function<ProgressNumbers()> progress;  // returns the numbers; the display computes the rates itself
  std::function<void(std::string_view text)> write = WriteToStandardError;  // prints a text
  std::function<size_t()> columns = Columns;                                // returns the width of the terminal
  std::function<std::string(const ProgressNumbers& progress, size_t columns)> bar = ProgressBar;  // makes the line
  const Clock& clock = Clock::System();
};

// The caller calls either Start or Tick. Start makes a thread that calls Tick five times a second until Stop. Only one
// thread at a time may call Tick. Tick calls the functions in ProgressDisplayParts.
class ProgressDisplay {
 public:
  static constexpr std::chrono::milliseconds kBarInterval{200};
  static constexpr std::chrono::seconds kLineInterval{5};

  explicit ProgressDisplay(ProgressDisplayParts parts);
  ~ProgressDisplay() { Stop(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void Start();
  // Ends the thread and erases the line that was drawn on a terminal. May be called again.
  void Stop();

  // Gets the numbers, then redraws the line on the terminal, or prints a line of the log if five seconds have passed.
  void Tick();

 private:
  void TellProblem(const ProgressNumbers& progress);
  void Say(const std::string& line);

  const ProgressDisplayParts parts_;
  RateWindow rates_;
  TimePoint next_line_;
  TimePoint problem_since_;
  bool problem_ = false;  // true while a problem lasts
  bool drawn_ = false;    // true if the terminal shows a line that has to be erased

  Mutex mutex_;
  Condition changed_;
  bool stop_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir
