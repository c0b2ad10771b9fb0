// This program once more, as another process that does something to a store: holds it, or saves until it is killed.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace weir {

class ChildProcess {
 public:
  // The environment is added to this process's own.
  ChildProcess(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);
  ~ChildProcess();  // kills what still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Reads the next whole line that it prints, without its end. Returns false at the end of all.
  bool ReadLine(std::string* line);
  // Ends its input, for which a child that holds a store waits to end by itself.
  void EndInput();
  void Kill();
  // Returns its exit code, or minus the signal that ended it.
  int Wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
  size_t read_ = 0;
};

// The role of a child that does not run tests.
inline constexpr const char* kChildRole = "WEIR_STORE_CHILD";
inline constexpr const char* kChildPath = "WEIR_STORE_CHILD_PATH";
// `hold`: opens the store, says "open", and keeps it until its input ends.
// `save`, `remove`: save, or save and remove, without end and durably, and say for every event what saving_child.h
// describes.
int RunChild(const std::string& role, const std::string& path);

inline std::map<std::string, std::string> AsChild(const std::string& role, const std::string& path) {
  return {{kChildRole, role}, {kChildPath, path}};
}

}  // namespace weir
