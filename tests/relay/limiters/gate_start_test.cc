// A gate that cannot start for want of a thread.
#include <gtest/gtest.h>

#include "relay/limiters/gate_server.h"
#include "tests/fixtures/start_without_threads.h"

namespace weir {
namespace {

std::string StartGate() {
  GateConfiguration configuration;
  configuration.server.port = 0;
  configuration.server.io_threads = 2;
  return GateServer::Open(configuration).status().message();
}

TEST(GateStartDeathTest, WithoutAThreadItEndsWithTheReason) {
  if (!ThreadsCanFail()) GTEST_SKIP() << "a sanitizer makes the threads";
  ExpectReasonForEachThread(StartGate);
}

}  // namespace
}  // namespace weir
