// A relay that cannot start for want of a thread.
#include <gtest/gtest.h>

#include "relay/relay.h"
#include "tests/fixtures/start_without_threads.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

std::string StartRelay() {
  const TempDirectory directory;
  RelayConfiguration configuration;
  configuration.data_dir = directory.path();
  configuration.server.port = 0;
  configuration.server.io_threads = 2;
  configuration.relay.worker_threads = 2;
  configuration.storage.memory.target_memory_mb = 4096;
  return Relay::Open(configuration).status().message();
}

TEST(RelayStartDeathTest, WithoutAThreadItEndsWithTheReason) {
  if (!ThreadsCanFail()) GTEST_SKIP() << "a sanitizer makes the threads";
  ExpectReasonForEachThread(StartRelay);
}

}  // namespace
}  // namespace weir
