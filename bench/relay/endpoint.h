// The address of the relay: a port of this machine. Other machines are refused, for this program is made to overload.
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

  std::string Url() const;
};

// Reads ws://127.0.0.1:7777/path; localhost and [::1] will do as well.
Result<Endpoint> ParseEndpoint(std::string_view url);

// Returns a connected socket with TCP_NODELAY; the caller closes it.
Result<int> ConnectTo(const Endpoint& endpoint);

// Returns a port that is free now, below those that the kernel gives to clients: a client might take one of those
// before the server is up.
Result<uint16_t> FreePort();

}  // namespace weir
