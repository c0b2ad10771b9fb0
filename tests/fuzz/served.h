// A server without a port, on the caller's thread and without its timers, for one connection after another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/server/io_thread.h"

namespace weir {

class Served {
 public:
  explicit Served(HttpRouter router, ConnectionHandlerFactory factory = nullptr, const ServerSettings& settings = {});
  ~Served();

  // Returns what the server says to a client that sends these pieces, each when the previous one is dealt with, and
  // then hangs up. The server must log no error, and the connection must be gone at the end.
  std::string Answer(std::span<const std::string_view> pieces);

 private:
  // Lets the server do all that it can; the client takes what it says.
  void Settle(int client, std::string* said);

  ServerCore core_;
  IoThread thread_;
};

std::vector<std::string_view> Cut(std::string_view text, size_t bytes);

}  // namespace weir
