// StreamChild: runs `weir stream` in another process, which is this test program, started again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/command_child.h"

namespace weir {

// The environment variable that makes this program run the command instead of tests.
inline constexpr const char* kStreamChild = "RUN_STREAM";

class StreamChild : public CommandChild {
 public:
  explicit StreamChild(std::vector<std::string> arguments)
      : CommandChild(Named(std::move(arguments)), EnvironmentOfChild(kStreamChild, {})) {}

 private:
  static std::vector<std::string> Named(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "weir stream");
    return arguments;
  }
};

}  // namespace weir
