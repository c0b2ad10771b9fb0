#include "relay/plugins/plugin_settings.h"

namespace weir {
namespace {

constexpr uint64_t kMostProcesses = 64;

void DeclareCommand(SettingTable& table, const std::string& name, PluginCommand& c, const std::string& decides) {
  table.Add(name, &c.command,
            "program that decides which " + decides +
                "; a path, or a command line for /bin/sh if it has a space; empty: none");
  table.Add(name + "_PROCESSES", &c.processes, {.min = 1, .max = kMostProcesses, .unit = "processes"},
            "processes of that program that run at once; each question goes to the one with the fewest under way");
}

}  // namespace

void Declare(SettingTable& table, PluginSettings& s) {
  DeclareCommand(table, "WRITE_PLUGIN", s.write, "events the relay takes (strfry's protocol)");
  DeclareCommand(table, "READ_PLUGIN", s.read, "REQs and COUNTs the relay answers");
  table.Add("PLUGIN_TIMEOUT_MS", &s.timeout, {.min = 1, .max = 600'000}, "longest time for a plugin's answer");
  table.Add("PLUGIN_FAILURE", &s.on_failure, {{"refuse", PluginFailure::kRefuse}, {"accept", PluginFailure::kAccept}},
            "what the relay does if a plugin gives no answer");
  table.Add("PLUGIN_IMPORTS", &s.imports, "whether imports ask the write plugin, too");
}

Status Check(const PluginSettings& s) {
  const PluginSettings defaults;
  const bool writes = !s.write.command.empty();
  const bool reads = !s.read.command.empty();
  const auto useless = [](std::string_view setting, std::string_view plugin) {
    return Status::Error(std::string(setting) + " is set, but has no effect without " + std::string(plugin) +
                         ": set that, or unset this");
  };
  if (!writes && s.write.processes != defaults.write.processes)
    return useless("WEIR_WRITE_PLUGIN_PROCESSES", "WEIR_WRITE_PLUGIN");
  if (!reads && s.read.processes != defaults.read.processes)
    return useless("WEIR_READ_PLUGIN_PROCESSES", "WEIR_READ_PLUGIN");
  if (!writes && s.imports != defaults.imports) return useless("WEIR_PLUGIN_IMPORTS", "WEIR_WRITE_PLUGIN");
  if (writes || reads) return Status();
  if (s.timeout != defaults.timeout) return useless("WEIR_PLUGIN_TIMEOUT_MS", "WEIR_WRITE_PLUGIN or WEIR_READ_PLUGIN");
  if (s.on_failure != defaults.on_failure)
    return useless("WEIR_PLUGIN_FAILURE", "WEIR_WRITE_PLUGIN or WEIR_READ_PLUGIN");
  return Status();
}

}  // namespace weir
