// Server: serves WebSocket (at / and at ServerSettings::websocket_path), HTTP/1.1 and HTTP/2 on one port, either all
// with TLS or all without.
//
//   Server server(settings, router, factory);
//   if (Status s = server.Listen(); !s.ok()) …  // "127.0.0.1:3334 is in use by another program; set WEIR_PORT …"
//   server.Accept();
//   server.Shutdown(std::chrono::seconds(5));   // stops accepting, lets handlers finish, closes all connections
//
// Threads: each I/O thread runs its own Asio context, and a connection stays on its thread. Handlers must not block.
// Shutdown and the destructor must not be called on an I/O thread. Once Listen has returned, the other functions may be
// called from any thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/net/connection.h"
#include "relay/net/http.h"
#include "relay/net/server_settings.h"

namespace weir {

class Acceptor;
class IoThread;
struct ClientConnections;
struct ServerCore;

// Counts since the start, except `connections` and `pending_bytes`, which are present values.
struct ServerStats {
  uint64_t connections = 0;            // open WebSockets
  uint64_t accepted = 0;               // connections of any kind, including those that are answered 503
  uint64_t refused_limit = 0;          // connections answered 503 because of max_connections
  uint64_t gave_way = 0;               // connections ended to make room for another client (places.h)
  uint64_t refused_address_limit = 0;  // connections answered 503 because of max_connections_per_address
  uint64_t handshake_failures = 0;     // refused requests for a WebSocket
  uint64_t http_errors = 0;            // other requests that the server refused or broke off: malformed, too late, …
  uint64_t too_slow = 0;               // clients that were dropped because they did not take their output
  uint64_t policy_closes = 0;          // WebSockets that the server has closed with 1008 or 1003
  uint64_t protocol_errors = 0;        // WebSockets whose client has broken the protocol
  uint64_t pings_unanswered = 0;       // clients disconnected because they did not answer a ping
  uint64_t http_requests = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  uint64_t pending_bytes = 0;   // waiting output of all connections
  std::optional<TlsStats> tls;  // nullopt if the port does not speak TLS, or Listen was not called
};

class Server {
 public:
  // `factory` makes the handlers of WebSockets. If it is null, a request for a WebSocket is answered like any other
  // HTTP request. `ledger` counts the memory that the program holds for each connection (relay/account/ledger.h); if it
  // is null, the server makes its own ledger.
  Server(const ServerSettings& settings, HttpRouter router, ConnectionHandlerFactory factory,
         std::shared_ptr<Ledger> ledger = nullptr);
  // Shuts down without waiting for handlers, unless Shutdown has returned before.
  ~Server();

  // Reads the certificate, if the settings name one, binds the port and starts the threads. Returns an error if a
  // setting is wrong or the port cannot be bound. New connections wait in the kernel's backlog until Accept is called.
  // With `take_over`, a running server of the same user may use the port (SO_REUSEPORT); without it, Listen fails if
  // the port is in use. Call Listen once.
  Status Listen(bool take_over = false);
  // Begins to accept connections. Call Listen first.
  void Accept();

  uint16_t port() const { return port_; }  // the port that was bound, even if the settings have 0; 0 before Listen
  bool speaks_tls() const;
  // Makes another thread read the certificate's files again; returns before that. Does nothing without TLS. Call Listen
  // first.
  void ReloadCertificate();
  size_t io_threads() const { return threads_.size(); }
  // Returns the executor of an I/O thread; `io_thread` must be less than io_threads().
  boost::asio::any_io_executor executor(size_t io_thread);

  // Accepts the connections that are in the backlog or whose TCP handshake is under way, but no later ones. Asks every
  // handler to finish (OnShutdown), answers the HTTP requests that have begun, and closes each WebSocket with 1001 when
  // its handler has finished. After that, or after `longest`, ends all connections and threads; this takes longer if a
  // handler blocks. Drops a client that takes no output for a second, and does not wait for clients to answer the close
  // frames, because other clients wait for the server's successor. A second call while the first call waits has the
  // effect of ForceShutdown.
  void Shutdown(std::chrono::milliseconds longest);
  // Makes a present or later call of Shutdown end all connections without waiting for handlers.
  void ForceShutdown();

  ServerStats Stats() const;
  // Returns the result of Places::Heaviest (places.h): the clients with the most connections, and those in `groups`.
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
  Mutex shutdown_mutex_;  // locked during Shutdown, so that only one call runs at a time
};

}  // namespace weir
