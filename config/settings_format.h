// Formats the rows of a SettingTable (settings.h). Rows for programs that embed weir come last; in JSON the member
// "for" marks them instead. Secrets are masked in all formats.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace weir {

// Returns aligned columns for a terminal.
std::string SettingsAsTable(const std::vector<SettingRow>& rows);
// Returns lines that both `.` of sh and EnvironmentFile= of systemd read back as the same values. The line of a masked
// value is a comment.
std::string SettingsAsEnv(const std::vector<SettingRow>& rows);
// Returns an array with one object for each setting; every member is a string.
std::string SettingsAsJson(const std::vector<SettingRow>& rows);
// Returns the table of config/SETTINGS.md, which has the defaults and not the present values.
std::string SettingsAsMarkdown(const std::vector<SettingRow>& rows);

}  // namespace weir
