// The listening socket.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "config/status.h"
#include "relay/server/client_address.h"
#include "relay/server/server_settings.h"

namespace weir {

class Listener {
 public:
  // With `take_over` the port may be one that another server of the same user listens on.
  static Result<Listener> Open(const ServerSettings& settings, bool take_over);

  Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener() { Close(); }

  int socket() const { return socket_; }
  uint16_t port() const { return port_; }

  // Returns a non-blocking socket and its peer, or -1 and errno.
  int AcceptOne(IpAddress* peer);

  // Called on the older of two servers that share the port: new connections go to the younger. Connections that wait in
  // a backlog that is closed are reset, and some may come between the last accept and the close.
  void LetTheYoungerHaveNew();
  // Takes all new connections again; called on the server that stays.
  void TakeNew();
  void Close();

 private:
  Listener(int socket, uint16_t port) : socket_(socket), port_(port) {}

  int socket_;
  uint16_t port_;
};

// Open files that this many connections need, with those of the store, logs and what else is open.
constexpr uint64_t FilesFor(uint64_t connections) { return connections + 1024; }
// Raises the limit of open files to what this many connections need; logs if the system does not grant it.
void RaiseFileLimit(uint64_t connections);

}  // namespace weir
