// RelayConfiguration: all settings of a relay, except those that its plugins declare.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "relay/net/server_settings.h"
#include "relay/observe/trace/trace_settings.h"
#include "relay/plugins/plugin_settings.h"
#include "relay/process/logging.h"
#include "relay/protocol/relay_settings.h"
#include "relay/retention/retention_settings.h"
#include "relay/standing/standing_settings.h"
#include "relay/store/storage/storage.h"

namespace weir {

struct RelayConfiguration {
  std::string data_dir = "./data";  // the database is in its subdirectory events/
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  RelaySettings relay;
  ServerSettings server;
  StorageSettings storage;
  TraceSettings trace;
  PluginSettings plugins;
  StandingSettings standing;
  RetentionSettings retention;
};
void Declare(SettingTable& table, RelayConfiguration& configuration);
// Checks the settings, also by rules that concern several of them, for example that the largest event fits into a
// message. Returns an error that names the wrong setting or settings, if any.
Status Check(const RelayConfiguration& configuration);
// Declares the configuration in the table, which may have other settings already; loads the table from the environment
// and the flags (config/settings.h); and checks the configuration. The configuration must live until the last Load of
// the table. The npubs in RelaySettings::admin_pubkey become hexadecimal.
Status LoadRelayConfiguration(SettingTable& table, const Environment& environment,
                              const std::vector<SettingFlag>& flags, RelayConfiguration* configuration);

}  // namespace weir
