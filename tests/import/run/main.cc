// The tests, or the program that some of them need as another process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "import/run/import_command.h"
#include "tests/fixtures/private_disk.h"
#include "tests/import/run/import_child.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kImportChild) != nullptr) return weir::ImportCommand(argc, argv);
  // Comes before anything starts a thread.
  if (std::getenv(weir::kPrivateDisk) != nullptr && !weir::MountPrivateDisk()) return weir::kNoPrivateDisk;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
