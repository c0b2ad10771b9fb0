// WeirChild: runs `weir relay`, `weir gate` or `weir doctor` in another process, which is this test program, started
// again.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/command_child.h"
#include "tests/fixtures/eventually.h"

namespace weir {

// The environment variable that makes this program run a command of weir instead of tests.
inline constexpr const char* kWeirChild = "RUN_WEIR";

class WeirChild : public CommandChild {
 public:
  // `command` is "weir relay", "weir gate" or "weir doctor". The child does not get the variables of this process that
  // begin with WEIR_ or ORLY_.
  WeirChild(const std::string& command, std::vector<std::string> arguments, const Environment& settings = {})
      : CommandChild(Named(command, std::move(arguments)), EnvironmentOfChild(kWeirChild, settings)) {}

  // Waits until the child listens. Returns its address, "127.0.0.1:4711"; empty if the child has ended.
  std::string Address() const {
    std::string address;
    Eventually([&] {
      const bool ended = !runs();
      const std::string text = err();
      const size_t at = text.find("listening on ");
      const size_t begin = at == text.npos ? at : text.find("://", at);
      const size_t end = begin == text.npos ? begin : text.find_first_of(",;", begin);
      if (end != text.npos) address = text.substr(begin + 3, end - begin - 3);
      return !address.empty() || ended;
    });
    return address;
  }

 private:
  static std::vector<std::string> Named(const std::string& command, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), command);
    return arguments;
  }
};

}  // namespace weir
