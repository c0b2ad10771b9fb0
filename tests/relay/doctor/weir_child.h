// `weir relay`, `weir gate` and `weir doctor` as other processes: this program once more.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/command_child.h"
#include "tests/fixtures/eventually.h"

namespace weir {

// Set in the environment of a process that does not run tests.
inline constexpr const char* kWeirChild = "RUN_WEIR";

class WeirChild : public CommandChild {
 public:
  // `command` is "weir relay" and the like. Variables of this process that begin with WEIR_ or ORLY_ are not passed on.
  WeirChild(const std::string& command, std::vector<std::string> arguments, const Environment& settings = {})
      : CommandChild(Named(command, std::move(arguments)), With(settings)) {}

  // Waits until it listens. Returns its address, "127.0.0.1:4711"; empty if it ended instead.
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
  static Environment With(const Environment& settings) {
    Environment environment = ProcessEnvironment();
    std::erase_if(environment, [](const auto& variable) {
      return variable.first.starts_with("WEIR_") || variable.first.starts_with("ORLY_");
    });
    environment.insert(settings.begin(), settings.end());
    environment.emplace(kWeirChild, "1");
    return environment;
  }
};

}  // namespace weir
