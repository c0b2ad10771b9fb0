// Relay: everything put together. One object is one relay.
//
//   auto relay = Relay::Open(configuration);
//   if (!relay.ok()) …
//   relay.value()->Accept();
//   …
//   relay.value()->Shutdown(std::chrono::seconds(10));
//
// The way of an event: server (frame) → client (message) → event_pipeline (worker: parse, verify; gate; group commit) →
// OK to its sender, and to the subscribers through live_index.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "monitors/memory_target.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/logging.h"
#include "relay/relay_settings.h"
#include "relay/server/server_settings.h"
#include "relay/store/rocksdb_store.h"
#include "throttle/limiter_settings.h"

namespace weir {

class RelayPart;

struct RelayConfiguration {
  std::string data_dir = "./data";  // the events are in its folder events/
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  RelaySettings relay;
  ServerSettings server;
  StoreSettings store;
  MemoryTargetSettings memory;
  LimiterSettings limiter;
  RocksDbMonitorSettings monitor;
};
void Declare(SettingTable& table, RelayConfiguration& configuration);
// What single ranges cannot say: an event must fit into a message, and the like.
Status Check(const RelayConfiguration& configuration);
// Everything from the environment, checked.
Status LoadRelayConfiguration(const Environment& environment, RelayConfiguration* configuration);

class Relay {
 public:
  // Opens the store and binds the port. With `take_over`, the process that holds the database is asked to go first
  // (SIGTERM), and clients that connect meanwhile wait.
  // The parts (relay_part.h) are the caller's and outlive it.
  static Result<std::unique_ptr<Relay>> Open(const RelayConfiguration& configuration, bool take_over = false,
                                             std::vector<RelayPart*> parts = {});
  ~Relay();

  void Accept();
  uint16_t port() const;
  // As a program on this machine reaches it: "127.0.0.1:3334".
  std::string host_and_port() const;
  // Stops accepting, finishes what is in flight, tells subscribers (CLOSED), flushes. Force, from another thread,
  // hurries it: connections are dropped, what was acknowledged is on disk all the same.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown();

 private:
  struct Rep;
  explicit Relay(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
