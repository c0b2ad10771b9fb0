// Listener is the listening socket of a server. A second server of the same user can listen on the same port and take
// over from the first, so that a new version of the program can replace the old one.
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
  // Binds the port of `settings` and listens. With `take_over`, a server of the same user may listen on the port
  // already; without it, a port in use is an error. The error says what to do.
  static Result<Listener> Open(const ServerSettings& settings, bool take_over);

  Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener() { Close(); }

  int socket() const { return socket_; }   // -1 after Close
  uint16_t port() const { return port_; }  // the real one, if the settings have port 0

  // Accepts a connection that waits. Returns its socket, which is non-blocking and the caller's to close, and sets
  // `peer` to the client's address. Returns -1 and sets errno if that fails; errno is EAGAIN if no connection waits.
  int AcceptOne(IpAddress* peer);

  // Call it on the older of two servers that share the port, before Close: the system then gives new connections to the
  // younger one. Otherwise some would come between the last AcceptOne and Close, which resets all connections in the
  // socket's backlog.
  void LetTheYoungerHaveNew();
  // Undoes LetTheYoungerHaveNew. The younger server calls it when it begins to accept.
  void TakeNew();
  // Closes the socket. Does nothing if it is closed.
  void Close();

 private:
  Listener(int socket, uint16_t port) : socket_(socket), port_(port) {}

  int socket_;
  uint16_t port_;
};

// Returns how many open files a program with this many connections needs, those of the store and the logs included.
constexpr uint64_t FilesFor(uint64_t connections) { return connections + 1024; }
// Raises the process's limit of open files to FilesFor(connections), or as far as the system allows. Logs a warning if
// that is less. Never lowers the limit.
void RaiseFileLimit(uint64_t connections);

}  // namespace weir
