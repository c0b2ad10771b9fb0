// weir health on a real relay: what it prints and how it ends.
#include "relay/commands/health_command.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "relay/relay.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/server_port.h"
#include "tests/fixtures/silent_port.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class HealthCommandTest : public testing::Test {
 protected:
  void Open() {
    configuration_.data_dir = directory_.path();
    configuration_.server.port = 0;
    auto opened = Relay::Open(configuration_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    relay_ = std::move(opened).value();
    relay_->Accept();
  }

  struct Ended {
    int code = 0;
    std::string out;
    std::string err;
  };
  static Ended Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "weir health");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = HealthCommand(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  TempDirectory directory_;
  RelayConfiguration configuration_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(HealthCommandTest, SaysThatARelayCanServe) {
  configuration_.storage.memory.target_memory_mb = 4096;
  Open();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--port", std::to_string(relay_->port())},
        std::vector<std::string>{"http://127.0.0.1:" + std::to_string(relay_->port())}}) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out, "ready\n");
  }
}

TEST_F(HealthCommandTest, SaysWhyARelayCannot) {
  configuration_.storage.memory.target_memory_mb = 24;
  configuration_.storage.limiter.emergency = 0.05;  // less than the program itself takes
  configuration_.storage.limiter.recovery = 0.01;
  Open();
  Ended ended;
  EXPECT_TRUE(Eventually([&] { return (ended = Run({"--port", std::to_string(relay_->port())})).code == 1; }));
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("cannot serve: emergency"), std::string::npos) << ended.err;
}

TEST_F(HealthCommandTest, FailsIfItCannotConnect) {
  const SilentPort silent;
  const Ended ended = Run({"--port", std::to_string(silent.port())});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("cannot connect"), std::string::npos) << ended.err;
}

TEST_F(HealthCommandTest, RefusesABadUrlOrPort) {
  EXPECT_EQ(Run({"ws://127.0.0.1"}).code, 2);
  EXPECT_EQ(Run({"--port", "70000"}).code, 2);
}

}  // namespace
}  // namespace weir
