// The address of a client: the socket's, or the one that a trusted proxy names.
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

// Returns 1.2.3.4 for ::ffff:1.2.3.4, and other addresses as they are.
IpAddress Unmapped(const IpAddress& address);

// An address of IPv4, or a network of IPv6 with so many bits of prefix, at most 64.
struct ClientNetwork {
  uint64_t prefix = 0;  // IPv6's is in the upper bits
  unsigned bits = 32;

  auto operator<=>(const ClientNetwork&) const = default;
  std::string Name() const;  // "192.0.2.1", "2001:db8::/64"
};

// A client of IPv6 is a /64: one customer gets that much, with 2^64 addresses to come from.
ClientNetwork NetworkOf(const IpAddress& address, unsigned ipv6_bits = 64);

// Seeded in each process, so that clients cannot choose addresses that collide.
struct ClientNetworkHash {
  size_t operator()(const ClientNetwork& network) const;
};

// Returns the hash of the client's network: the same for all addresses of one client.
uint64_t GroupOf(const IpAddress& address);
// Returns the group of 0.0.0.0 if the address cannot be read.
uint64_t GroupOf(std::string_view address);

class TrustedProxies {
 public:
  // Reads addresses and networks, comma-separated: "127.0.0.1, 10.0.0.0/8, fd00::/8".
  static Result<TrustedProxies> Parse(std::string_view text);

  bool Contains(const IpAddress& address) const;

  // Returns the client of a request that came over a socket from `peer`. If the peer is trusted, that is the right-most
  // address of `forwarded_for` that is not trusted, or `real_ip` if `forwarded_for` is empty. An address that cannot be
  // read is not believed, nor are those to its left.
  IpAddress Client(const IpAddress& peer, std::string_view forwarded_for, std::string_view real_ip) const;

 private:
  struct Network {
    IpAddress address;
    unsigned prefix;
  };
  std::vector<Network> networks_;
};

// Counts how many of a thing each client has. Any thread may call it.
class AddressSlots {
 public:
  explicit AddressSlots(uint64_t most) : most_(most) {}

  // Returns false if the client has as many as it may.
  bool Take(const IpAddress& address);
  void Return(const IpAddress& address);

 private:
  const uint64_t most_;
  std::mutex mutex_;
  std::unordered_map<ClientNetwork, uint64_t, ClientNetworkHash> taken_;
};

}  // namespace weir
