#include "relay/serving_command.h"

#include <CLI/CLI.hpp>

namespace weir {

void SettingFlags::Add(CLI::App& app, std::string flag, std::string setting, const std::string& meaning) {
  Flag& added = flags_.emplace_back(Flag{.flag = std::move(flag), .setting = std::move(setting), .text = {}});
  app.add_option(added.flag, added.text, meaning);
}

Status SettingFlags::Set(SettingTable& table) const {
  for (const Flag& flag : flags_) {
    if (!flag.text) continue;
    if (Status status = table.Set(flag.setting, *flag.text, flag.flag); !status.ok()) return status;
  }
  return {};
}

}  // namespace weir
