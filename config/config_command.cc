#include "config/config_command.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <map>
#include <ostream>
#include <string>

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
  CLI::App app("Prints every setting as the environment has it.", argv[0]);
  app.add_option("--format", format, "table, env (for sh and systemd), json or markdown (the defaults only)")
      ->check(CLI::IsMember(&Formats()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, out, err) == 0 ? 0 : 2;
  }

  // The README's table must not depend on where it is made.
  if (format != "markdown") {
    for (const std::string& warning : table.UnknownNames(environment)) err << "warning: " << warning << "\n";
    if (const Status loaded = table.Load(environment); !loaded.ok()) {
      err << loaded.message() << "\n";
      return 2;
    }
  }
  out << Formats().at(format)(table.rows());
  return 0;
}

}  // namespace weir
