#include "tests/relay/limiters/gate_child.h"

#include <cstdlib>
#include <string_view>

#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

std::vector<std::string> AsGate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir gate");
  return arguments;
}

Environment WithSettings(const std::map<std::string, std::string>& settings) {
  Environment environment = ProcessEnvironment();
  std::erase_if(environment, [](const auto& variable) {
    return variable.first.starts_with("WEIR_") || variable.first.starts_with("ORLY_");
  });
  environment.insert(settings.begin(), settings.end());
  environment.emplace(kGateChild, "1");
  return environment;
}

}  // namespace

GateChild::GateChild(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& settings)
    : CommandChild(AsGate(arguments), WithSettings(settings)) {}

uint16_t GateChild::Port() const {
  constexpr std::string_view kBegin = "listening on http://127.0.0.1:";
  uint16_t port = 0;
  Eventually([&] {
    const bool ended = !runs();
    const std::string text = err();
    if (const size_t at = text.find(kBegin); at != text.npos && text.find('\n', at) != text.npos)
      port = static_cast<uint16_t>(std::atoi(text.c_str() + at + kBegin.size()));
    return port != 0 || ended;
  });
  return port;
}

}  // namespace weir
