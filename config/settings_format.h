// Prints the rows of a SettingTable. Rows for programs that embed weir come last; in JSON a member marks them.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace weir {

// Aligned columns for a terminal.
std::string SettingsAsTable(const std::vector<SettingRow>& rows);
// Lines that both `.` of sh and EnvironmentFile= of systemd read back as the same values.
std::string SettingsAsEnv(const std::vector<SettingRow>& rows);
// An array with one object per setting; every member is a string.
std::string SettingsAsJson(const std::vector<SettingRow>& rows);
// The table in config/SETTINGS.md: the defaults, not the present values.
std::string SettingsAsMarkdown(const std::vector<SettingRow>& rows);

}  // namespace weir
