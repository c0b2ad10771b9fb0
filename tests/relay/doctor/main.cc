// The tests, or a command of weir that some of them need as another process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "relay/commands/relay_command.h"
#include "relay/doctor/doctor_command.h"
#include "relay/limiters/gate_command.h"
#include "relay/limiters_plugin.h"
#include "tests/relay/doctor/weir_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kWeirChild) == nullptr) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  const std::string_view name = argv[0];
  if (name == "weir doctor") return weir::DoctorCommand(argc, argv);
  if (name == "weir gate") {
    weir::RelayConfiguration relay;
    return weir::GateCommand(argc, argv, [&relay](weir::SettingTable& table) { Declare(table, relay); });
  }
  weir::LimitersPlugin limiters;
  return weir::RelayCommand(argc, argv, {&limiters});
}
