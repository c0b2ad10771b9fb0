// PluginSettings: the operator's settings for policy plugins (policy_plugin.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"
#include "config/status.h"

namespace weir {

// The relay's decision about a question that a plugin does not answer.
enum class PluginFailure : uint8_t { kRefuse, kAccept };

// A plugin's program. A command without a space is the path of a program; any other is a command line for /bin/sh.
struct PluginCommand {
  std::string command;  // empty if there is no plugin
  uint64_t processes = 1;
};

struct PluginSettings {
  PluginCommand write;  // decides which events the relay takes
  PluginCommand read;   // decides which REQs and COUNTs it answers
  // By default 5 s, because common clients give up then: nostr-tools waits 4.4 s for an OK.
  std::chrono::milliseconds timeout{5000};
  PluginFailure on_failure = PluginFailure::kRefuse;
  bool imports = true;  // false if imports do not ask the write plugin
};
void Declare(SettingTable& table, PluginSettings& settings);
// Returns an error for a setting that has no effect because there is no plugin that it concerns.
Status Check(const PluginSettings& settings);

}  // namespace weir
