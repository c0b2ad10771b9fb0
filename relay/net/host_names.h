// Names and addresses of hosts, as URLs and the Host header write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// Returns true if `host` is localhost, a name that ends with .localhost, or an IP address that is loopback, private or
// link-local. `host` may be a URL or have a port. A client that names such a host can only mean a relay nearby, so the
// relay trusts such a Host header when a client proves its key (AUTH). Any other Host header may come from an attacker
// between client and relay that wants to use the client's AUTH for itself.
bool IsNearby(std::string_view host);

// Returns the host of a URL in lower case, without user, port and final dot: "relay.example" for
// "wss://Relay.Example:443/path". An IPv6 address keeps its brackets.
std::string HostOf(std::string_view url);

// Returns the host and port at which a program on this machine reaches a server that listens on `listen`, such as
// "127.0.0.1:3334" or "[::1]:3334". If the server listens on all addresses, the host is the loopback address.
std::string HostAndPort(std::string listen, uint16_t port);

// Returns true for an IP address of loopback, also in IPv6's form of an IPv4 address.
bool IsLoopback(const std::string& address);
// Returns true for localhost, a name that ends with .localhost, or a loopback address, with or without a port.
bool IsLoopbackName(std::string_view host);

}  // namespace weir
