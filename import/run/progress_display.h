// ProgressDisplay: shows how an import or an export is getting on: a line of a terminal drawn five times a second, or a
// line of a log every five seconds. A problem is told once when it begins and once when it is over.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "config/clock.h"
#include "import/run/progress.h"

namespace weir {

// These are for standard error.
bool CanDrawLines();
size_t Columns();
void WriteToStandardError(std::string_view text);

struct ProgressDisplayParts {
  enum class Style : uint8_t { kBar, kLines, kNone };

  Style style = Style::kLines;
  std::function<ProgressNumbers()> progress;  // without its speeds
  std::function<void(std::string_view text)> write = WriteToStandardError;
  std::function<size_t()> columns = Columns;  // the width of the terminal
  std::function<std::string(const ProgressNumbers& progress, size_t columns)> bar = ProgressBar;
  const Clock& clock = Clock::System();
};

// Tick is called by one thread at a time: Start makes one that does nothing else, until Stop.
class ProgressDisplay {
 public:
  static constexpr std::chrono::milliseconds kBarInterval{200};
  static constexpr std::chrono::seconds kLineInterval{5};

  explicit ProgressDisplay(ProgressDisplayParts parts);
  ~ProgressDisplay() { Stop(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void Start();
  // Wipes a bar away. Idempotent.
  void Stop();

  // Looks once and shows what is due.
  void Tick();

 private:
  void TellProblem(const ProgressNumbers& progress);
  void Say(const std::string& line);

  const ProgressDisplayParts parts_;
  RateWindow rates_;
  TimePoint next_line_;
  TimePoint problem_since_;
  bool problem_ = false;
  bool drawn_ = false;  // a bar stands there

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace weir
