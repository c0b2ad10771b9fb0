// `weir gate` as another process: this program once more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/fixtures/command_child.h"

namespace weir {

// Set in the environment of a process that does not run tests.
inline constexpr const char* kGateChild = "RUN_WEIR_GATE";

class GateChild : public CommandChild {
 public:
  // Variables of this process that begin with WEIR_ or ORLY_ are not passed on.
  explicit GateChild(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& settings = {});

  // Waits until it listens. Returns 0 if it ended, or does not listen within a minute.
  uint16_t Port() const;
};

}  // namespace weir
