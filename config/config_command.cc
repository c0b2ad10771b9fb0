#include "config/config_command.h"

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/settings_format.h"

namespace weir {
namespace {

using Format = std::string (*)(const std::vector<SettingRow>& rows);

const std::map<std::string, Format>& Formats() {
  static const std::map<std::string, Format> kFormats = {
      {"table", SettingsAsTable}, {"env", SettingsAsEnv}, {"json", SettingsAsJson}, {"markdown", SettingsAsMarkdown}};
  return kFormats;
}

}  // namespace

int ConfigCommand(int argc, char** argv, SettingTable& table, const Environment& environment, std::ostream& out,
                  std::ostream& err) {
  std::string format = "table";
  std::vector<std::string> formats;
  for (const auto& [name, make] : Formats()) formats.push_back(name);
  CommandLine line(argv[0], "Prints every setting as the environment has it.");
  line.Add("--format", &format, "table, env (for sh and systemd), json or markdown (the defaults only)").OneOf(formats);
  if (const std::optional<int> code = line.Parse(argc, argv, out, err)) return *code;

  // The table in config/SETTINGS.md must not depend on where it is made.
  if (format != "markdown") {
    for (const std::string& warning : table.UnknownNames(environment)) err << "warning: " << warning << "\n";
    if (const Status loaded = table.Load(environment); !loaded.ok()) {
      err << loaded.message() << "\n";
      return CommandLine::kWrong;
    }
  }
  out << Formats().at(format)(table.rows());
  return 0;
}

}  // namespace weir
