// The tests, or the other process that one of them needs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/fixtures/private_disk.h"
#include "tests/relay/store/child_process.h"

int main(int argc, char** argv) {
  const char* role = std::getenv(weir::kChildRole);
  if (role != nullptr) return weir::RunChild(role, std::getenv(weir::kChildPath));
  // Comes before anything starts a thread.
  if (std::getenv(weir::kPrivateDisk) != nullptr && !weir::MountPrivateDisk()) return weir::kNoPrivateDisk;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
