// The tests, or the program that some of them need as another process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "import/import_command.h"
#include "tests/import_ops/import_child.h"
#include "tests/store/private_disk.h"

int main(int argc, char** argv) {
  if (std::getenv(weir::kImportChild) != nullptr) return weir::ImportCommand(argc, argv);
  // Before anything starts a thread.
  if (std::getenv(weir::kPrivateDisk) != nullptr && !weir::MountPrivateDisk()) return weir::kNoPrivateDisk;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
