// Relay: one Nostr relay in this process. Owns and connects all its objects, from the port to the store.
//
//   auto relay = Relay::Open(configuration);
//   if (!relay.ok()) …
//   relay.value()->Accept();
//   …
//   relay.value()->Shutdown(std::chrono::seconds(10));
//
// The path of an event: the server (net/server.h) reads a frame, and Client (protocol/client.h) reads the message in
// it. Then EventPipeline (protocol/event_pipeline.h) lets a worker parse and verify the event, asks a gate of the
// throttle to admit it, and saves it together with other events in one commit (ephemeral events are not saved). After
// that, the sender gets an OK, and the subscribers that LiveIndex (protocol/live_index.h) finds get the event.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/operator/relay_configuration.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class Admin;
class ByteBudget;
class Delivery;
class EventPipeline;
class Ledger;
class MemoryRelief;
class Moderation;
class PolicyPlugin;
class RelayMetrics;
class RelayPlugin;
class RulesInForce;
class Server;
class Traces;
class WorkPool;
struct RelayContext;
struct RelayServices;

class Relay {
 public:
  // Binds the port, opens the store and starts the threads, but accepts no connection yet. If a step fails, closes what
  // was opened and returns the error. Without `take_over`, Open fails if another process has the RocksDB database open
  // (several relays may share a PostgreSQL). With `take_over`, Open asks that process to stop (SIGTERM) and waits until
  // it has stopped, for at most 30 seconds; clients that connect meanwhile wait in the port's backlog. Open fails if
  // the process has not stopped by then, or if `take_over` is set and the events are not in the data directory
  // (WEIR_STORE).
  //
  // The caller owns `plugins` (relay_plugin.h); they must outlive the relay.
  static Result<std::unique_ptr<Relay>> Open(const RelayConfiguration& configuration, bool take_over = false,
                                             std::vector<RelayPlugin*> plugins = {});
  // Calls Shutdown(0).
  ~Relay();

  // Begins to accept connections.
  void Accept();
  uint16_t port() const;  // the port that was bound, even if the settings say 0
  // Returns the address at which a program on this machine reaches the relay: "127.0.0.1:3334".
  std::string host_and_port() const;
  bool speaks_tls() const;
  // Makes another thread read the files of the TLS certificate again, and returns at once. If the new files are not
  // valid, the old certificate stays in use. Does nothing without TLS.
  void ReloadCertificate();
  // Stops accepting connections, answers the EVENTs and HTTP requests that have arrived, and closes the connections;
  // these steps take at most about `longest`. Then stops the operator's policy plugins and the plugins, saves the
  // events that the write gate has admitted, refuses those that still wait there, and flushes the store, however long
  // that takes. A second call does nothing.
  void Shutdown(std::chrono::milliseconds longest);
  // Drops the connections for which Shutdown waits, so that Shutdown continues with its later steps. May be called from
  // any thread.
  void ForceShutdown();
  // Writes a page about the relay's state to the log (observe/relay/relay_state.h). May be called from any thread, but
  // not once Shutdown has begun.
  void TellState() const;

 private:
  Relay(const RelayConfiguration& configuration, std::vector<RelayPlugin*> plugins);
  Status OpenAll(bool take_over);
  void MakeAdmin();
  Status Assemble();
  RelayServices ServicesOfParts();
  Status Follow();
  Status StartPolicyPlugins();
  Status OpenModeration();
  std::vector<PolicyPlugin*> PolicyPlugins() const;
  void SetMetricSources();
  Status Ready() const;
  Status DatabaseAnswers(const LimiterView::Write& write) const;
  Status ReadyBut(std::string* note) const;
  std::string StatePage(std::string why) const;
  void TellEmergency(uint64_t emergencies) const;

  // The order matters: later members use earlier ones, and are destroyed before them.
  const RelayConfiguration configuration_;
  const std::vector<RelayPlugin*> plugins_;
  std::unique_ptr<Traces> traces_;  // null if traces are off
  const std::unique_ptr<RelayMetrics> metrics_;
  const std::shared_ptr<RulesInForce> rules_;
  const std::shared_ptr<Ledger> ledger_;
  std::unique_ptr<Storage> storage_;
  std::string admin_token_;  // empty if no token could be written
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<ByteBudget> budget_;
  std::unique_ptr<MemoryRelief> relief_;
  std::unique_ptr<PolicyPlugin> write_plugin_;  // null if the operator has none
  std::unique_ptr<PolicyPlugin> read_plugin_;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<WorkPool> pool_;
  std::unique_ptr<RelayContext> context_;
  std::unique_ptr<EventPipeline> pipeline_;
  std::unique_ptr<Moderation> moderation_;
  const std::unique_ptr<Server> server_;
  bool is_down_ = false;  // true once Shutdown was called
};

}  // namespace weir
