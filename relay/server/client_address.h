// Who a client is: the socket's address, or what a trusted proxy says.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/status.h"

namespace weir {

using IpAddress = boost::asio::ip::address;

// ::ffff:1.2.3.4 is 1.2.3.4.
IpAddress Unmapped(const IpAddress& address);

// An address of IPv4, or a network of IPv6 with so many bits of prefix, at most 64.
struct ClientNetwork {
  uint64_t prefix = 0;  // of IPv6 in the upper bits
  unsigned bits = 32;

  auto operator<=>(const ClientNetwork&) const = default;
  std::string Name() const;  // "192.0.2.1", "2001:db8::/64"
};

// A client of IPv6 is a /64: that is what one customer gets, with 2^64 addresses to come from.
ClientNetwork NetworkOf(const IpAddress& address, unsigned ipv6_bits = 64);

// Seeded in each process, so that nobody can choose addresses that collide.
struct ClientNetworkHash {
  size_t operator()(const ClientNetwork& network) const;
};

// The same for all addresses of one client: the hash of its network.
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

// How many of a thing each client has. Any thread.
class AddressSlots {
 public:
  explicit AddressSlots(uint64_t most) : most_(most) {}

  // False where the client has as many as it may.
  bool Take(const IpAddress& address);
  void Return(const IpAddress& address);

 private:
  const uint64_t most_;
  std::mutex mutex_;
  std::unordered_map<ClientNetwork, uint64_t, ClientNetworkHash> taken_;
};

}  // namespace weir
