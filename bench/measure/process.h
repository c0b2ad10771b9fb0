// Process: a shell command that this program starts, waits for and stops. The command has a process group of its own,
// so Ctrl-C reaches only this program, and signals to this group reach only the command and its children. The kernel
// sends SIGTERM to the command when this program ends, even by a crash.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

// The time and memory that the command used. They include those of the child processes for which the command waited.
struct CommandCost {
  Duration wall{};
  Duration user{};
  Duration system{};
  // The peak memory, in MB, of the largest of these processes. The kernel begins the peak at the memory that this
  // program held when it started the command. So a load generator that holds its events in memory would measure itself.
  double peak_mb = 0;
};

class Process {
 public:
  // Runs the command with `sh`, and appends its output to `log`. If the command has several steps, pid() is that of the
  // last step only if this step begins with exec. Messages call the command `noun`.
  static Result<std::unique_ptr<Process>> Start(const std::string& command, const std::filesystem::path& log,
                                                const std::string& noun = "command");
  // Calls Stop if the command has not ended.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }  // 0: another function has noticed that the command has ended
  const std::filesystem::path& log() const { return log_; }

  // Waits at most `patience`. Returns true if the command has ended.
  bool Ended(Duration patience = {});
  // Waits until the command ends. Returns an error if a signal interrupts the wait.
  Status Wait();
  // Sends SIGTERM, and if the command has not ended after 60 s, sends SIGKILL and returns an error.
  Status Stop();
  // Sends SIGKILL at once, and waits until the command has ended.
  void Kill();

  // Returns the cost, or an error with the last line of the output if the command failed. REQUIRES: the command has
  // ended.
  Result<CommandCost> Cost() const;
  // Waits at most half a second for the end. Returns "" if the command still runs; else how it ended and the last line
  // of its output.
  std::string Fate();

 private:
  Process(pid_t pid, std::filesystem::path log, std::string noun);
  bool Reap(int options);
  std::string End() const;

  pid_t pid_;
  const std::filesystem::path log_;
  const std::string noun_;
  const TimePoint begin_;
  int status_ = 0;
  CommandCost cost_;
};

// Returns the last line of a log that is not empty.
std::string LastLine(const std::filesystem::path& log);

}  // namespace weir
