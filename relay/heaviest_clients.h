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

// Returns at most kMost addresses and at most kMost connections. Chooses among the addresses that have the most work,
// hold the most memory or have the most connections. Leaves out addresses that no longer have an open connection, and
// their connections. Takes time in proportion to the number of addresses that hold memory or have a connection.
HeaviestClients FindHeaviestClients(const Server& server, const Ledger& ledger, const WorkPool& pool);

}  // namespace weir
