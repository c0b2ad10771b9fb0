// A command of the shell that this program starts, waits for and stops, by its process id and no other way. It has a
// process group of its own, so that Ctrl-C reaches only this program, and it ends with this program, however that ends.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

// The usage of the command and of all its processes that it waited for.
struct CommandCost {
  Duration wall{};
  Duration user{};
  Duration system{};
  // The peak of the largest process. The kernel starts it at the memory that the parent held when it started the
  // command: a generator that keeps its events in memory would measure itself.
  double peak_mb = 0;
};

class Process {
 public:
  // `sh` runs the command; if it has more than one step and its process id matters, the last must begin with exec. Its
  // output goes to the end of `log`; messages call it by `noun`.
  static Result<std::unique_ptr<Process>> Start(const std::string& command, const std::filesystem::path& log,
                                                const std::string& noun = "command");
  // Stops it if it has not ended.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }  // 0: it has ended
  const std::filesystem::path& log() const { return log_; }

  // Returns true if it ends within this time.
  bool Ended(Duration patience = {});
  // Waits until it ends, or until a signal interrupts this program.
  Status Wait();
  // Sends SIGTERM, and after 60 s SIGKILL, which is an error.
  Status Stop();
  // Sends SIGKILL at once.
  void Kill();

  // Call it when the command has ended. Returns an error with its last line if it failed.
  Result<CommandCost> Cost() const;
  // Returns "" while it runs; else how it ended, and its last line.
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

// The last line that a program printed.
std::string LastLine(const std::filesystem::path& log);

}  // namespace weir
