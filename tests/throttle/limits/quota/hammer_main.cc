// Runs the tests, or a child that hammers a store for one of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/throttle/limits/quota/hammer.h"

int main(int argc, char** argv) {
  if (const char* role = std::getenv(weir::kHammerRole)) return weir::RunHammerChild(role);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
