// Who a client is: the socket's address, or what a trusted proxy says; and how many connections each has.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/status.h"

namespace weir {

using IpAddress = boost::asio::ip::address;

// ::ffff:1.2.3.4 is 1.2.3.4.
IpAddress Unmapped(const IpAddress& address);

// The same for all addresses of one client: of IPv6 a client is a /64, which is what one customer gets, with 2^64
// addresses to come from. Seeded in each process, so that nobody can choose addresses that collide.
uint64_t GroupOf(const IpAddress& address);
// Of what cannot be read, that of 0.0.0.0.
uint64_t GroupOf(std::string_view address);

class TrustedProxies {
 public:
  // Addresses and networks, comma-separated: "127.0.0.1, 10.0.0.0/8, fd00::/8".
  static Result<TrustedProxies> Parse(std::string_view text);

  bool Contains(const IpAddress& address) const;

  // The client of a request that came over a socket from `peer`: where the peer is trusted, the right-most address of
  // `forwarded_for` that is not, else `real_ip`. What cannot be read is not believed.
  IpAddress Client(const IpAddress& peer, std::string_view forwarded_for, std::string_view real_ip) const;

 private:
  struct Network {
    IpAddress address;
    unsigned prefix;
  };
  std::vector<Network> networks_;
};

struct ClientConnections {
  uint64_t group = 0;   // as GroupOf has it
  std::string address;  // of IPv6 the /64
  uint64_t connections = 0;
};

// Connections by client, as GroupOf has it. Any thread.
class AddressSlots {
 public:
  explicit AddressSlots(uint64_t most) : most_(most) {}

  // False where the client has as many as it may.
  bool Take(const IpAddress& address);
  void Return(const IpAddress& address);
  // At most so many of those with the most connections, and those of these groups that have any, in no order. A walk
  // over all.
  std::vector<ClientConnections> Heaviest(size_t most, std::vector<uint64_t> groups) const;

 private:
  struct Hash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& key) const;
  };

  const uint64_t most_;
  mutable std::mutex mutex_;
  std::unordered_map<std::pair<uint64_t, uint64_t>, uint64_t, Hash> taken_;
};

}  // namespace weir
