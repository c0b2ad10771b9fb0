// A command that does a piece of work and ends, and what it cost.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

// Of all processes of the command that were awaited in it.
struct CommandCost {
  Duration wall{};
  Duration user{};
  Duration system{};
  // Of the largest of them. The kernel begins with what the parent held when it started the command: a generator that
  // keeps its events in memory would measure itself.
  double peak_mb = 0;
};

class ChildCommand {
 public:
  // `sh` runs it; what it prints goes to `log`.
  static Result<std::unique_ptr<ChildCommand>> Start(const std::string& command, const std::filesystem::path& log);
  // Ends it if it has not ended.
  ~ChildCommand();
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  // Looks without waiting.
  bool Ended();
  // Waits until it ends, or somebody interrupts this program.
  Status Wait();
  // When it has ended. An error where it failed, with what it said last.
  Result<CommandCost> Cost() const;

 private:
  ChildCommand(pid_t pid, std::filesystem::path log) : pid_(pid), log_(std::move(log)), begin_(Clock::System().Now()) {}
  bool Reap(int options);

  pid_t pid_;  // 0: it has ended
  const std::filesystem::path log_;
  const TimePoint begin_;
  int status_ = 0;
  CommandCost cost_;
};

}  // namespace weir
