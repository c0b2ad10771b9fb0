// The tests, or `weir stream`, which some of them need as another process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "import/links/stream_command.h"
#include "tests/import/links/stream_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kStreamChild) != nullptr) return weir::StreamCommand(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
