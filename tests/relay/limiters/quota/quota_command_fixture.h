// Runs `weir quota` in this process, and returns its output and its exit code.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "relay/limiters/quota/quota_command.h"
#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {

struct Ended {
  int code;
  std::string out;
  std::string err;
};

inline Ended Command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir quota");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = QuotaCommand(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

class QuotaCommandTest : public GateServerTest {
 protected:
  ~QuotaCommandTest() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }

  // Sets an environment variable. REQUIRES: this process has no other thread.
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

 private:
  std::vector<std::string> set_;
};

}  // namespace weir
