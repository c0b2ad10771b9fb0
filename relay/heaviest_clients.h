// The clients that take most of a relay: of the workers' time, of its memory, of its connections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

class Ledger;
class Server;
class WorkPool;

struct HeaviestClients {
  static constexpr size_t kMost = 12;

  struct Address {
    std::string address;  // the /64 for IPv6
    double work = 0;      // see WorkPool::HeaviestTakers
    uint64_t held_bytes = 0;
    uint64_t connections = 0;
  };
  struct Connection {
    uint64_t id = 0;
    std::string address;
    double work = 0;
  };
  // Sorted by work, the most first, then by held bytes.
  std::vector<Address> addresses;
  std::vector<Connection> connections;
};

// Walks over all addresses.
HeaviestClients FindHeaviestClients(const Server& server, const Ledger& ledger, const WorkPool& pool);

}  // namespace weir
