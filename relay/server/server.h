// Server: one port for WebSocket (at / or ServerSettings::websocket_path), HTTP/1.1 and HTTP/2, all of it with TLS or
// all without.
//
//   Server server(settings, router, factory);
//   if (Status s = server.Listen(); !s.ok()) …  // "127.0.0.1:3334 is in use by another program; set WEIR_PORT …"
//   server.Accept();
//   server.Shutdown(std::chrono::seconds(5));   // stops accepting, lets handlers finish, closes; a second call: at
//   once
//
// Threads: each I/O thread runs an Asio context of its own; a connection stays on the thread that it was given to. No
// handler may block there. Functions of Server may be called from any thread but its own I/O threads, unless said
// otherwise.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "config/status.h"
#include "relay/server/connection.h"
#include "relay/server/http.h"
#include "relay/server/server_settings.h"

namespace weir {

class Acceptor;
class IoThread;
struct ClientConnections;
struct ServerCore;

struct ServerStats {
  uint64_t connections = 0;            // WebSockets that are open now
  uint64_t accepted = 0;               // sockets
  uint64_t refused_limit = 0;          // max_connections
  uint64_t gave_way = 0;               // ended for an address with fewer connections
  uint64_t refused_address_limit = 0;  // max_connections_per_address
  uint64_t handshake_failures = 0;     // requests for a WebSocket that were refused
  uint64_t http_errors = 0;            // other requests that were malformed, too large or late
  uint64_t too_slow = 0;               // disconnected because they did not read
  uint64_t policy_closes = 0;          // closed by us with 1008 or 1003
  uint64_t protocol_errors = 0;
  uint64_t pings_unanswered = 0;
  uint64_t http_requests = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  uint64_t pending_bytes = 0;  // output that waits, all connections
  std::optional<TlsStats> tls;
};

class Server {
 public:
  // Without a factory there are no WebSockets: a request for one is answered as if it had not asked for it. The ledger
  // counts the memory that connections make the program hold; without one the server makes its own.
  Server(const ServerSettings& settings, HttpRouter router, ConnectionHandlerFactory factory,
         std::shared_ptr<Ledger> ledger = nullptr);
  // Shuts down at once, if Shutdown was not called.
  ~Server();

  // Binds the port and starts the threads. With `take_over` the port may be shared with a running server of the same
  // user (SO_REUSEPORT), and connections wait in the new backlog until Accept. Without it a port that is in use is an
  // error.
  Status Listen(bool take_over = false);
  // Begins to accept connections. Call Listen first.
  void Accept();

  uint16_t port() const { return port_; }  // the real one, after Listen
  bool speaks_tls() const;
  // Reads the certificate's files again, soon. Call Listen first.
  void ReloadCertificate();
  size_t io_threads() const { return threads_.size(); }
  boost::asio::any_io_executor executor(size_t io_thread);

  // Takes the connections that still wait in the backlog, stops accepting, asks every handler to finish (OnShutdown),
  // and closes each connection with 1001 when its handler has. Returns when all were told so, or after `longest`. A
  // client that takes nothing for a second is dropped, and no client's answer to a close is waited for, because others
  // wait for a successor. ForceShutdown, from any thread or a second signal, ends the wait.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown();

  ServerStats Stats() const;
  // See Places::Heaviest (places.h).
  std::vector<ClientConnections> HeaviestClients(size_t most, const std::vector<uint64_t>& groups) const;

 private:
  bool Empty() const;
  bool AllIsSaid() const;
  void Await(std::chrono::steady_clock::time_point until, const std::function<bool()>& condition);
  void AwaitTurn(const std::function<bool()>& condition);
  void StopAccepting(std::chrono::steady_clock::time_point until);

  const std::unique_ptr<ServerCore> core_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::unique_ptr<Acceptor> acceptor_;
  uint16_t port_ = 0;
  std::mutex shutdown_mutex_;  // one Shutdown at a time
};

}  // namespace weir
