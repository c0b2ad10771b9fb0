#include "tests/import/run/import_child.h"

namespace weir {
namespace {

std::vector<std::string> Named(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir import");
  return arguments;
}

Environment With(const std::map<std::string, std::string>& added) {
  Environment environment = ProcessEnvironment();
  for (const auto& [name, value] : added) environment.insert_or_assign(name, value);
  return environment;
}

}  // namespace

ImportChild::ImportChild(const std::vector<std::string>& arguments, Input input,
                         const std::map<std::string, std::string>& environment)
    : CommandChild(Named(arguments), With(environment), input) {}

}  // namespace weir
