// `weir gate` as another process: this program once more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/fixtures/command_child.h"

namespace weir {

// In the environment of a process that is not to run tests.
inline constexpr const char* kGateChild = "RUN_WEIR_GATE";

class GateChild : public CommandChild {
 public:
  // Variables of this process that begin with WEIR_ or ORLY_ are not passed on.
  explicit GateChild(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& settings = {});

  // Once it listens; 0 where it ended, or does not within a minute.
  uint16_t Port() const;
};

}  // namespace weir
