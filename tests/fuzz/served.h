// Served: a server that runs on the caller's thread, without a port and without timers. It serves one connection after
// the other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/net/io_thread.h"

namespace weir {

class Served {
 public:
  explicit Served(HttpRouter router, ConnectionHandlerFactory factory = nullptr, const ServerSettings& settings = {});
  ~Served();

  // Returns what the server sends to a client that sends these pieces, each when the server has processed the one
  // before, and then closes the connection. Checks that the server logs no error, and that it has closed the connection
  // at the end.
  std::string Answer(std::span<const std::string_view> pieces);

 private:
  // Runs the server until it has nothing to do, and appends what it sends to `*said`.
  void Settle(int client, std::string* said);

  ServerCore core_;
  IoThread thread_;
};

std::vector<std::string_view> Cut(std::string_view text, size_t bytes);

}  // namespace weir
