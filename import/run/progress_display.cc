#include "import/run/progress_display.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "config/terminal_size.h"
#include "config/text/readable.h"

namespace weir {
namespace {

using Style = ProgressDisplayParts::Style;

// Moves the cursor to the first column and clears the line.
constexpr std::string_view kWipe = "\r\x1b[K";

}  // namespace

bool CanDrawLines() { return CanBeDrawnOn(STDERR_FILENO); }

size_t Columns() { return SizeOfTerminal(STDERR_FILENO).columns; }

void WriteToStandardError(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

ProgressDisplay::ProgressDisplay(ProgressDisplayParts parts)
    : parts_(std::move(parts)), next_line_(parts_.clock.Now() + kLineInterval) {}

void ProgressDisplay::Start() {
  if (parts_.style == Style::kNone) return;
  thread_ = std::thread([this] {
    MutexLock lock(mutex_);
    do {
      lock.unlock();
      Tick();
      lock.lock();
    } while (!changed_.wait_for(lock, kBarInterval, [this]() WEIR_REQUIRES(mutex_) { return stop_; }));
  });
}

void ProgressDisplay::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (std::exchange(drawn_, false)) parts_.write(kWipe);
}

void ProgressDisplay::Tick() {
  if (parts_.style == Style::kNone) return;
  const TimePoint now = parts_.clock.Now();
  ProgressNumbers progress = parts_.progress();
  if (progress.begun) rates_.Add(now, progress.tally.events(), progress.input_bytes);
  progress.events_per_s = rates_.events_per_s();
  progress.bytes_per_s = rates_.bytes_per_s();
  TellProblem(progress);
  if (parts_.style == Style::kBar) {
    // The last column stays free: some terminals move to the next line when that column is written.
    parts_.write(std::string(kWipe) + parts_.bar(progress, std::max<size_t>(parts_.columns(), 2) - 1));
    drawn_ = true;
  } else if (now >= next_line_) {
    Say(ProgressLine(progress));
    next_line_ = now + kLineInterval;
  }
}

void ProgressDisplay::TellProblem(const ProgressNumbers& progress) {
  const std::string& problem = progress.conditions.problem;
  if (problem.empty() != problem_) return;
  problem_ = !problem.empty();
  if (problem_) {
    problem_since_ = parts_.clock.Now();
    Say("import: waiting: " + AsText(problem));
  } else {
    Say("import: goes on after " + ShortTime(parts_.clock.Now() - problem_since_));
  }
}

void ProgressDisplay::Say(const std::string& line) {
  std::string text = line + "\n";
  if (std::exchange(drawn_, false)) text.insert(0, kWipe);
  parts_.write(text);
}

}  // namespace weir
