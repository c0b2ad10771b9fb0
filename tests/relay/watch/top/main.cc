// The tests, or the commands of weir that some of them need as other processes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "relay/commands/relay_command.h"
#include "relay/watch/live/live_plugin.h"
#include "relay/watch/top/top_command.h"
#include "tests/relay/doctor/weir_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kWeirChild) == nullptr) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  if (std::string_view(argv[0]) == "weir top") return weir::TopCommand(argc, argv);
  weir::LivePlugin live;
  return weir::RelayCommand(argc, argv, {&live});
}
