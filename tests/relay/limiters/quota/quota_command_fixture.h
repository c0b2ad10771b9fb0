// Runs `weir quota` in this process, and returns its output and its exit code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "relay/limiters/quota/quota_command.h"
#include "tests/fixtures/called_command.h"
#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {

inline Ran Command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir quota");
  return CallCommand(QuotaCommand, std::move(arguments));
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
