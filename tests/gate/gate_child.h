// `weir gate` as another process: this program once more.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/gate/gate_fixture.h"

namespace weir {

// In the environment of a process that is not to run tests.
inline constexpr const char* kGateChild = "RUN_WEIR_GATE";

class GateChild {
 public:
  // Variables of this process that begin with WEIR_ or ORLY_ are not passed on.
  explicit GateChild(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& settings = {});
  ~GateChild();  // kills what still runs
  GateChild(const GateChild&) = delete;
  GateChild& operator=(const GateChild&) = delete;

  // Once it listens; 0 where it ended, or does not within half a minute.
  uint16_t Port();
  void Signal(int signal);
  // The exit code; minus the signal that ended it.
  int Wait();
  std::string out() const { return directory_.Read("out"); }
  std::string err() const { return directory_.Read("err"); }

 private:
  GateDirectory directory_;
  pid_t pid_ = -1;
};

}  // namespace weir
