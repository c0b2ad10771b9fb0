// The rows of a SettingTable as text; those for programs that embed weir come last, or, in JSON, say so.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace weir {

// Aligned columns for a terminal.
std::string SettingsAsTable(const std::vector<SettingRow>& rows);
// What `.`, of sh, and EnvironmentFile=, of systemd, both read back as the same values.
std::string SettingsAsEnv(const std::vector<SettingRow>& rows);
// An array with an object a setting; every member is a string.
std::string SettingsAsJson(const std::vector<SettingRow>& rows);
// The table in config/SETTINGS.md: the defaults, whatever the values are now.
std::string SettingsAsMarkdown(const std::vector<SettingRow>& rows);

}  // namespace weir
