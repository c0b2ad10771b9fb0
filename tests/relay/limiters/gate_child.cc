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

}  // namespace

GateChild::GateChild(const std::vector<std::string>& arguments, const Environment& settings)
    : CommandChild(AsGate(arguments), EnvironmentOfChild(kGateChild, settings)) {}

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
