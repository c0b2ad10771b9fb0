// GateChild: runs `weir gate` in another process, which is this test program, started again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fixtures/command_child.h"

namespace weir {

// The environment variable that makes this program run `weir gate` instead of tests.
inline constexpr const char* kGateChild = "RUN_WEIR_GATE";

class GateChild : public CommandChild {
 public:
  // The child does not get the variables of this process that begin with WEIR_ or ORLY_.
  explicit GateChild(const std::vector<std::string>& arguments, const Environment& settings = {});

  // Waits until the child listens, and returns its port. Returns 0 if it has ended, or does not listen within a minute.
  uint16_t Port() const;
};

}  // namespace weir
