// RelayPlugin: the interface of a service that runs in the relay's process and on its port, such as the import, the
// limiters and the live page. The relay's own code knows only this interface; main passes the plugins to the relay. The
// relay lets the plugins use its store, its workers and the gates of its throttle (RelayServices).
#pragma once

#include <functional>

#include "config/settings.h"
#include "config/status.h"
#include "relay/heaviest_clients.h"
#include "relay/net/http.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/observe/metrics/metric_families.h"
#include "relay/operator/relay_configuration.h"
#include "relay/protocol/event_pipeline.h"
#include "relay/protocol/relay_context.h"

namespace weir {

class Admin;
class Moderation;
class RelayMetrics;

// The relay's own objects, which a plugin may use from Start until Stop has returned.
struct RelayServices {
  RelayContext& context;
  EventPipeline& events;  // for SaveBulk
  const RelayMetrics& metrics;
  const Admin& admin;
  Moderation& moderation;
  const RelayConfiguration& configuration;
  // Calls AppendLive of all plugins. May be called from any thread.
  std::function<void(LiveTables& tables)> append_live;
  // Calls FindHeaviestClients. May be called from any thread.
  std::function<HeaviestClients()> heaviest_clients;
};

class RelayPlugin {
 public:
  virtual ~RelayPlugin() = default;

  // Declares the settings of the plugin. They are loaded before the functions below are called.
  virtual void Declare(SettingTable& /*table*/) {}
  // Adds the routes of the plugin to the relay's port. The relay calls their handlers only after all plugins have
  // started.
  virtual void AddRoutes(HttpRouter& /*router*/) {}
  // Called at most once, before the port accepts connections. `services` is valid only during the call, so a plugin
  // that needs it later has to copy it. If Start returns an error, Relay::Open fails.
  virtual Status Start(const RelayServices& services) = 0;
  // Called when no connection is left, even if Start failed or was not called. Must wait until all work of the plugin
  // is done and the worker pool has no more tasks of the plugin. The gates, the workers and the commit thread still run
  // meanwhile.
  virtual void Stop() = 0;
  // Called at each SIGHUP, from any thread, at any time after Start, even after Stop. A plugin that has files of its
  // own should begin to read them again. Must not block.
  virtual void HangUp() {}
  // Adds the figures of the plugin to /metrics. Called from any thread, even before Start and after Stop.
  virtual void AppendMetrics(MetricFamilies& families) const = 0;
  // Adds the tables of the plugin to the live page (live_tables.h). Called each second while an operator watches, from
  // any thread, between Start and Stop. Must not block.
  virtual void AppendLive(LiveTables& /*tables*/) const {}
};

}  // namespace weir
