// Everything that an operator can set about a relay, of all rooms.
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
// What single ranges cannot say: an event must fit into a message, and the like.
Status Check(const RelayConfiguration& configuration);
// Declares it in the table, beside what else is declared there, loads the table and checks.
Status LoadRelayConfiguration(SettingTable& table, const Environment& environment,
                              const std::vector<SettingFlag>& flags, RelayConfiguration* configuration);

}  // namespace weir
