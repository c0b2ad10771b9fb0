// Who takes most of a relay: of the workers' time, of its memory, of its connections.
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
    std::string address;  // of IPv6 the /64
    double work = 0;      // as WorkPool::HeaviestTakers has it
    uint64_t held_bytes = 0;
    uint64_t connections = 0;
  };
  struct Connection {
    uint64_t id = 0;
    std::string address;
    double work = 0;
  };
  // Those with the most work first, then those who hold most.
  std::vector<Address> addresses;
  std::vector<Connection> connections;
};

// A walk over all addresses.
HeaviestClients FindHeaviestClients(const Server& server, const Ledger& ledger, const WorkPool& pool);

}  // namespace weir
