// Where the relay is: a port of this machine. Other machines are refused, for this program is made to overload.
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

// ws://127.0.0.1:7777/path; localhost and [::1] will do as well.
Result<Endpoint> ParseEndpoint(std::string_view url);

// A connected socket with TCP_NODELAY; the caller closes it.
Result<int> ConnectTo(const Endpoint& endpoint);

// A port that nobody listens on now, below those that the kernel gives to clients: one of these might take it before
// the server is up.
Result<uint16_t> FreePort();

}  // namespace weir
