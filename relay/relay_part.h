// RelayPart: a service of a room above, such as the import, on the relay's port. main hands it to the relay; the relay
// gives it its routes, its store, its workers and its gates.
#pragma once

#include <functional>

#include "config/settings.h"
#include "config/status.h"
#include "relay/heaviest_clients.h"
#include "relay/metrics/live_tables.h"
#include "relay/metrics/metric_families.h"
#include "relay/operator/relay_configuration.h"
#include "relay/protocol/event_pipeline.h"
#include "relay/protocol/relay_context.h"
#include "relay/server/http.h"

namespace weir {

class Admin;
class RelayMetrics;

// A part may use these from Start until Stop has returned.
struct RelayServices {
  RelayContext& context;
  EventPipeline& events;  // for SaveBulk
  const RelayMetrics& metrics;
  const Admin& admin;
  const RelayConfiguration& configuration;
  // append_live adds the tables of all parts (AppendLive); heaviest_clients finds the clients that take most. Threads:
  // any.
  std::function<void(LiveTables& tables)> append_live;
  std::function<HeaviestClients()> heaviest_clients;
};

class RelayPart {
 public:
  virtual ~RelayPart() = default;

  // Declares its settings, which are loaded before the calls below.
  virtual void Declare(SettingTable& /*table*/) {}
  // Handlers are not called before Start.
  virtual void AddRoutes(HttpRouter& router) = 0;
  // On an error the relay does not open.
  virtual Status Start(const RelayServices& services) = 0;
  // Called when no connection is left: waits for what the part has under way, so that the pool has no task of it any
  // more. Gates and commit thread still work. Called also if Start was not.
  virtual void Stop() = 0;
  // Called at SIGHUP, from any thread, between Start and Stop or later: reads its own files again, if it has any. Must
  // not block.
  virtual void HangUp() {}
  // Adds its figures to /metrics. From any thread, also before Start and after Stop.
  virtual void AppendMetrics(MetricFamilies& families) const = 0;
  // Adds its tables, each second while an operator looks; between Start and Stop, from any thread. Must not block.
  virtual void AppendLive(LiveTables& /*tables*/) const {}
};

}  // namespace weir
