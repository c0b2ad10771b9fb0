// Relay: puts everything together. One object is one relay.
//
//   auto relay = Relay::Open(configuration);
//   if (!relay.ok()) …
//   relay.value()->Accept();
//   …
//   relay.value()->Shutdown(std::chrono::seconds(10));
//
// The path of an event: server (frame) → client (message) → event_pipeline (worker: parse, verify; gate; group commit)
// → OK to its sender, and to the subscribers through live_index.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

class Admin;
class ByteBudget;
class Delivery;
class EventPipeline;
class Ledger;
class MemoryRelief;
class RelayMetrics;
class RelayPart;
class Server;
class Traces;
class WorkPool;
struct RelayContext;
struct RelayServices;

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
  // The address at which a program on this machine reaches it: "127.0.0.1:3334".
  std::string host_and_port() const;
  bool speaks_tls() const;
  // Soon reads the certificate's files again.
  void ReloadCertificate();
  // Stops accepting, finishes what is in flight, closes connections, flushes. ForceShutdown, from another thread,
  // hurries it: connections are dropped, but what was acknowledged is on disk all the same.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown();
  // Writes the state to the log, on a page. From any thread, but not during Shutdown.
  void TellState() const;

 private:
  Relay(const RelayConfiguration& configuration, std::vector<RelayPart*> parts);
  Status OpenAll(bool take_over);
  void MakeAdmin();
  Status Assemble();
  RelayServices ServicesOfParts();
  Status Follow();
  void SetMetricSources();
  Status Ready() const;
  Status ReadyBut(std::string* note) const;
  void TellEmergency(uint64_t emergencies) const;

  // In order from the ground up: later members use earlier ones, and are destroyed before them.
  const RelayConfiguration configuration_;
  const std::vector<RelayPart*> parts_;
  std::unique_ptr<Traces> traces_;  // null if traces are off
  const std::unique_ptr<RelayMetrics> metrics_;
  const std::shared_ptr<Ledger> ledger_;
  std::unique_ptr<Storage> storage_;
  std::string admin_token_;  // empty if none could be written
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<MemoryRelief> relief_;
  std::unique_ptr<ByteBudget> budget_;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<WorkPool> pool_;
  std::unique_ptr<RelayContext> context_;
  std::unique_ptr<EventPipeline> pipeline_;
  const std::unique_ptr<Server> server_;
  bool is_down_ = false;
};

}  // namespace weir
