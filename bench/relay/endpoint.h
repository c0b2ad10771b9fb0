// Endpoint: the address of the relay, which must be a port of this machine. ParseEndpoint refuses other machines,
// because this program overloads the relay on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

struct Endpoint {
  std::string host = "127.0.0.1";  // a loopback address
  uint16_t port = 0;
  std::string path = "/";
  std::string from = {};  // the IPv4 address from which to connect; empty: the system chooses

  std::string Url() const;
};

// Reads ws://127.0.0.1:7777/path. The host may also be localhost or [::1].
Result<Endpoint> ParseEndpoint(std::string_view url);

// Returns a connected socket with TCP_NODELAY; the caller closes it.
Result<int> ConnectTo(const Endpoint& endpoint);

// Returns a port that is free now. The port is below the range from which the kernel by default takes ports for
// outgoing connections, because such a connection might take the port before the server listens on it.
Result<uint16_t> FreePort();

}  // namespace weir
