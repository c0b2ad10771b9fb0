// Finds the address of a client, and decides which addresses count as one client. A client's address is that of the
// socket's peer, or the address that a trusted proxy names in a header.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"

namespace weir {

using IpAddress = boost::asio::ip::address;

// Returns 1.2.3.4 for ::ffff:1.2.3.4, and other addresses as they are.
IpAddress Unmapped(const IpAddress& address);

// The addresses that count as one client: an address of IPv4, or a network of IPv6.
struct ClientNetwork {
  uint64_t prefix = 0;  // an IPv4 address, or the upper half of an IPv6 address
  unsigned bits = 32;   // 32 for IPv4; for IPv6 the length of the prefix, from 1 to 64 but not 32

  auto operator<=>(const ClientNetwork&) const = default;
  std::string Name() const;  // "192.0.2.1", "2001:db8::/64"
};

// Returns the client to which an address belongs. By default a client of IPv6 is a /64, because a provider gives each
// customer at least a /64. A smaller `ipv6_bits` makes a wider network count as one client.
ClientNetwork NetworkOf(const IpAddress& address, unsigned ipv6_bits = 64);

// ClientNetworkHash: hashes with a random seed of this process, so that clients cannot choose colliding addresses.
struct ClientNetworkHash {
  size_t operator()(const ClientNetwork& network) const;
};

// Returns the group of an address: a hash that is the same for all addresses of one client (NetworkOf). The hash has a
// random seed, so another process gets another group for the same address.
uint64_t GroupOf(const IpAddress& address);
// Returns the group of an address in text form, or of 0.0.0.0 if the text is not an address.
uint64_t GroupOf(std::string_view address);

// Returns the name of the client (ClientNetwork::Name) to which an address in text form belongs. Returns a text that is
// not an address as it is.
std::string ClientNameOf(std::string_view address);

// TrustedProxies: the proxies whose headers the server believes when they name a client's address.
class TrustedProxies {
 public:
  // Reads addresses and networks, comma-separated: "127.0.0.1, 10.0.0.0/8, fd00::/8". An empty text means no proxies.
  static Result<TrustedProxies> Parse(std::string_view text);

  bool Contains(const IpAddress& address) const;

  // Returns the address of the client whose request came over a socket from `peer`. `forwarded_for` and `real_ip` are
  // the headers X-Forwarded-For and X-Real-IP. If the peer is not trusted, the client is the peer. Otherwise the client
  // is the right-most address in `forwarded_for` that is not trusted, or the left-most address if all are trusted. An
  // entry of the header that is not an address ends the search: the client is then the address to the right of this
  // entry, or the peer if no address is to its right. If `forwarded_for` is empty, the client is `real_ip`, or the peer
  // if `real_ip` is not an address.
  IpAddress Client(const IpAddress& peer, std::string_view forwarded_for, std::string_view real_ip) const;

 private:
  struct Network {
    IpAddress address;
    unsigned prefix;
  };
  std::vector<Network> networks_;
};

// AddressSlots: limits how many objects of one kind, such as open watches, each client may have. All functions may be
// called from any thread.
class AddressSlots {
 public:
  // `most` is the most that one client may have.
  explicit AddressSlots(uint64_t most) : most_(most) {}

  // Takes a slot for the client of `address`. Returns false, and takes none, if the client has `most` already.
  bool Take(const IpAddress& address);
  // Releases a slot of that client. Must be called once for each Take that has returned true.
  void Return(const IpAddress& address);

 private:
  const uint64_t most_;
  Mutex mutex_;
  std::unordered_map<ClientNetwork, uint64_t, ClientNetworkHash> taken_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
