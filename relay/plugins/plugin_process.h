// PluginProcess: a child process with pipes to its standard input, output and error.
//
// The process is the leader of a process group of its own: Ctrl-C at the terminal does not reach it, and End also ends
// the processes that it has started. It inherits no other descriptor. It gets the relay's environment, without the
// variables that configure the relay, because some of these are secrets (IsOfRelay).
//
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "config/file_descriptor.h"
#include "config/status.h"

namespace weir {

// Returns true for a variable of the environment that processes of plugins do not get.
bool IsOfRelay(std::string_view variable);

class PluginProcess {
 public:
  // Starts a process. A command without a space is the path of a program; any other command is passed to /bin/sh. The
  // error says why the program cannot be run; a shell reports this by its exit status later.
  static Result<PluginProcess> Start(const std::string& command);
  // Makes an object without a process, which uses these descriptors. They should not block. Makes the pipe of `input`
  // small, because the questions in it take no turns any more (question_queue.h).
  PluginProcess(Descriptor input, Descriptor output, Descriptor error);
  // Calls End.
  ~PluginProcess() { End(); }
  PluginProcess(PluginProcess&& other) noexcept = default;
  PluginProcess& operator=(PluginProcess&& other) = delete;

  // The relay's ends of the pipes, which do not block; `input` is that of the process's standard input.
  const Descriptor& input() const { return input_; }
  const Descriptor& output() const { return output_; }
  const Descriptor& error() const { return error_; }
  void CloseInput() { input_.Close(); }
  void CloseError() { error_.Close(); }
  // A descriptor that is readable once the process has ended; -1 if the kernel has none.
  int end() const { return end_.number(); }

  // Kills the process and its group, if they still run, and closes all descriptors. Returns how the process has ended:
  // "ended with status 1", "was ended by signal 9". Only the first call kills. Blocks for at most a second if the relay
  // may not kill the process.
  std::string End();

 private:
  // A process id that a move leaves behind as 0.
  struct Pid {
    Pid() = default;
    ~Pid() = default;
    Pid(Pid&& other) noexcept : number(std::exchange(other.number, 0)) {}
    Pid& operator=(Pid&& other) = delete;
    pid_t number = 0;
  };

  Descriptor input_;
  Descriptor output_;
  Descriptor error_;
  Descriptor end_;
  Pid pid_;
};

}  // namespace weir
