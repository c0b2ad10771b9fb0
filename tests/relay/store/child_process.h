// ChildProcess: another process, which is this test program, started again. It uses a store: it keeps the store open,
// or saves until it is killed.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace weir {

class ChildProcess {
 public:
  // The child's environment is that of this process plus `environment`.
  ChildProcess(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);
  ~ChildProcess();  // kills the child if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Reads the next whole line of the child's output, without the line feed. Returns false at the end of the output.
  bool ReadLine(std::string* line);
  // Closes the child's standard input. A child that keeps a store open then ends.
  void EndInput();
  void Kill();
  // Waits for the child's end. Returns its exit code, or minus the signal that ended it.
  int Wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
  size_t read_ = 0;
};

// The environment variable with the role of the child (RunChild).
inline constexpr const char* kChildRole = "WEIR_STORE_CHILD";
inline constexpr const char* kChildPath = "WEIR_STORE_CHILD_PATH";
// Runs a role. `hold` opens the store, prints "open", and keeps the store open until its input ends. `save` saves
// without end, `remove` saves and removes without end, both durably; for each event they print the lines that
// saving_child.h describes. `build` adds the words of older events in small pieces, prints a line for each, and ends.
int RunChild(const std::string& role, const std::string& path);

inline std::map<std::string, std::string> AsChild(const std::string& role, const std::string& path) {
  return {{kChildRole, role}, {kChildPath, path}};
}

}  // namespace weir
