// Listener: the listening socket of a server. A second server of the same user can listen on the same port and take
// over from the first, so that a new version of the program can replace the old one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "config/status.h"
#include "relay/net/client_address.h"
#include "relay/net/server_settings.h"

namespace weir {

class Listener {
 public:
  // Binds the port of `settings` and listens. With `take_over`, a server of the same user may listen on the port
  // already; without it, Open fails if the port is in use. The error names the settings to change.
  static Result<Listener> Open(const ServerSettings& settings, bool take_over);

  Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener() { Close(); }

  int socket() const { return socket_; }   // -1 after Close
  uint16_t port() const { return port_; }  // the port that was bound, even if the settings have port 0

  // Accepts a connection from the backlog. Returns its non-blocking socket, which the caller must close, and sets
  // `peer` to the address of the other end. On failure returns -1 and sets errno, which is EAGAIN if the backlog is
  // empty.
  int AcceptOne(IpAddress* peer);

  // Makes the system give new connections to the younger of two servers that share the port. The older server calls
  // this before its last calls of AcceptOne and Close, because Close resets the connections that are still in its
  // backlog.
  void LetTheYoungerHaveNew();
  // Undoes LetTheYoungerHaveNew, which may still act on the port after an older server has closed its socket. A server
  // calls this when it begins to accept connections.
  void TakeNew();
  // Closes the socket. Does nothing if the socket is closed already.
  void Close();

 private:
  Listener(int socket, uint16_t port) : socket_(socket), port_(port) {}

  int socket_;
  uint16_t port_;
};

// Returns the number of open files that a program with this many connections needs, including those of store and logs.
constexpr uint64_t FilesFor(uint64_t connections) { return connections + 1024; }
// Raises the process's limit of open files to FilesFor(connections). If the system does not allow that many, raises the
// limit as far as possible and logs a warning. Never lowers the limit.
void RaiseFileLimit(uint64_t connections);

}  // namespace weir
