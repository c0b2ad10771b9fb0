// The tests, or `weir gate` for them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "relay/limiters/gate_command.h"
#include "relay/operator/relay_configuration.h"
#include "tests/relay/limiters/gate_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kGateChild) != nullptr) {
    weir::RelayConfiguration relay;
    return weir::GateCommand(argc, argv, [&relay](weir::SettingTable& table) { Declare(table, relay); });
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
