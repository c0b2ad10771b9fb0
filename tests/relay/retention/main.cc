// The tests, or `weir delete`, which some of them need as another process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "relay/commands/delete_command.h"
#include "tests/relay/retention/delete_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kDeleteChild) != nullptr) return weir::DeleteCommand(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
