// The tests, or the program that some of them need as another process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "import/sql/load_command.h"
#include "tests/import/sql/load_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kLoadChild) != nullptr) return weir::LoadCommand(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
