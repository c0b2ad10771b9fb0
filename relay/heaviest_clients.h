// HeaviestClients: the clients that cost a relay most, in time of its workers, in memory or in connections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

class Ledger;
class Server;
class WorkPool;

struct HeaviestClients {
  static constexpr size_t kMost = 12;  // the most entries of each list

  struct Address {
    std::string address;       // the client's IP address; for IPv6, its /64 network
    double work = 0;           // workers' time in about nanoseconds (work.h); old work fades (WorkPool::FadeTakers)
    uint64_t held_bytes = 0;   // memory that the relay holds for it (Ledger)
    uint64_t connections = 0;  // open connections
  };
  struct Connection {
    uint64_t id = 0;
    std::string address;  // see Address
    double work = 0;      // see Address
  };
  // Sorted by work, then by held bytes, then by connections, each with the most first.
  std::vector<Address> addresses;
  std::vector<Connection> connections;  // sorted by work, the most first
};

// Returns at most kMost addresses and kMost connections. Leaves out addresses that have no open connection any more,
// with their connections. Walks over all addresses that hold memory or have a connection.
HeaviestClients FindHeaviestClients(const Server& server, const Ledger& ledger, const WorkPool& pool);

}  // namespace weir
