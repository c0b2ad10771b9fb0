// HeaviestClients: the clients that use the most of a relay's resources: work of its worker threads, memory and
// connections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

class Ledger;
class Server;
class WorkPool;

struct HeaviestClients {
  static constexpr size_t kMost = 12;  // the most entries that each list has

  struct Address {
    std::string address;       // the client's IP address; for IPv6, its /64 network
    double work = 0;           // work of worker threads, fading with time (WorkPool::FadeTakers)
    uint64_t held_bytes = 0;   // memory that the relay holds for the address (Ledger)
    uint64_t connections = 0;  // open connections
  };
  struct Connection {
    uint64_t id = 0;
    std::string address;  // see Address
    double work = 0;      // see Address
  };
  // In descending order of work; for equal work, of held bytes; for equal bytes, of connections.
  std::vector<Address> addresses;
  std::vector<Connection> connections;  // in descending order of work
};

// Returns at most kMost connections and, as KeepHeaviest chooses them, at most kMost addresses. Leaves out addresses
// that no longer have an open connection, and their connections. Takes time in proportion to the number of addresses
// that hold memory or have a connection.
HeaviestClients FindHeaviestClients(const Server& server, const Ledger& ledger, const WorkPool& pool);

// Keeps at most kMost addresses, and sorts them. If there are more, keeps a third of kMost for each measure: those with
// the most work and, of the others, those that hold the most memory and then those with the most connections.
void KeepHeaviest(std::vector<HeaviestClients::Address>* addresses);

}  // namespace weir
