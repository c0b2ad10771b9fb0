// weir health on a real relay: what it prints and how it ends.
#include "relay/commands/health_command.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/called_command.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/silent_port.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

Ran Health(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir health");
  return CallCommand(HealthCommand, std::move(arguments));
}

class HealthCommandTest : public RelayServerTest {
 protected:
  std::string Port() const { return std::to_string(relay_->port()); }
};

TEST_F(HealthCommandTest, SaysThatARelayCanServe) {
  Open();
  const std::vector<std::string> ways[] = {{"--port", Port()}, {"http://127.0.0.1:" + Port()}};
  for (const std::vector<std::string>& arguments : ways) {
    SCOPED_TRACE(arguments[0]);
    const Ran ran = Health(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "ready\n");
  }
}

TEST_F(HealthCommandTest, SaysWhyARelayCannot) {
  configuration_.storage.memory.target_memory_mb = 24;
  configuration_.storage.limiter.emergency = 0.05;  // less than the program itself takes
  configuration_.storage.limiter.recovery = 0.01;
  Open();
  Ran ran;
  EXPECT_TRUE(Eventually([&] { return (ran = Health({"--port", Port()})).code == 1; }));
  EXPECT_FALSE(ran.out.starts_with("ready")) << ran.out;  // the relay of this process logs the emergency there
  EXPECT_TRUE(Has(ran.err, "cannot serve: emergency")) << ran.err;
}

TEST_F(HealthCommandTest, FailsIfItCannotConnect) {
  const SilentPort silent;
  const Ran ran = Health({"--port", std::to_string(silent.port())});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(Has(ran.err, "cannot connect")) << ran.err;
}

TEST_F(HealthCommandTest, RefusesABadUrlOrPort) {
  EXPECT_EQ(Health({"ws://127.0.0.1"}).code, 2);
  EXPECT_EQ(Health({"--port", "70000"}).code, 2);
}

}  // namespace
}  // namespace weir
