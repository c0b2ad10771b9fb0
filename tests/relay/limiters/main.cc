// The tests, or `weir gate` for them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "relay/limiters/gate_command.h"
#include "tests/relay/limiters/gate_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kGateChild) != nullptr) return weir::GateCommand(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
