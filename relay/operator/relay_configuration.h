// Everything that an operator can set about a relay, from all rooms.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "relay/process/logging.h"
#include "relay/protocol/relay_settings.h"
#include "relay/server/server_settings.h"
#include "relay/storage/storage.h"
#include "relay/trace/trace_settings.h"

namespace weir {

struct RelayConfiguration {
  std::string data_dir = "./data";  // the events are in its folder events/
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  RelaySettings relay;
  ServerSettings server;
  StorageSettings storage;
  TraceSettings trace;
};
void Declare(SettingTable& table, RelayConfiguration& configuration);
// Checks what the range of one setting cannot say: an event must fit into a message, and the like.
Status Check(const RelayConfiguration& configuration);
// Declares the configuration in the table, beside the settings that are declared there already, loads the table and
// checks.
Status LoadRelayConfiguration(SettingTable& table, const Environment& environment,
                              const std::vector<SettingFlag>& flags, RelayConfiguration* configuration);

}  // namespace weir
