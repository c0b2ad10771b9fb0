// ServerCore: the state that the I/O threads of a server share.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "relay/account/ledger.h"
#include "relay/net/client_address.h"
#include "relay/net/connection.h"
#include "relay/net/http.h"
#include "relay/net/log_limit.h"
#include "relay/net/places.h"
#include "relay/net/served_certificate.h"
#include "relay/net/server_settings.h"

namespace weir {

using SteadyTime = std::chrono::steady_clock::time_point;

// Counter: a number that only one I/O thread changes and any thread may read. So Add and Subtract need no atomic
// read-modify-write instruction.
class Counter {
 public:
  void Add(uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void Subtract(uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) - n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// The counters of one I/O thread (see ServerStats in server.h).
struct alignas(64) ThreadCounters {
  Counter connections;
  Counter accepted;
  Counter refused_limit;
  Counter refused_address_limit;
  Counter gave_way;
  Counter handshake_failures;
  Counter http_errors;
  Counter too_slow;
  Counter policy_closes;
  Counter protocol_errors;
  Counter pings_unanswered;
  Counter tls_handshakes;
  Counter tls_handshake_failures;
  Counter http_requests;
  Counter received_bytes;
  Counter sent_bytes;
  Counter pending_bytes;
};

// The limits on the log lines that a client can cause, one for each kind of line.
struct ServerLogs {
  LogLimit refused;
  LogLimit address_limit;
  LogLimit accept;
  LogLimit handshake;
  LogLimit protocol;
  LogLimit too_slow;
  LogLimit ping;
  LogLimit fault;
  LogLimit memory;
};

// OwnedSocket: owns a socket, and closes it unless Take was called.
class OwnedSocket {
 public:
  explicit OwnedSocket(int socket) : socket_(socket) {}
  OwnedSocket(OwnedSocket&& other) noexcept : socket_(other.Take()) {}
  ~OwnedSocket() {
    if (socket_ >= 0) close(socket_);
  }

  int get() const { return socket_; }  // -1 after Take
  // Returns the socket, which the caller must then close.
  int Take() { return std::exchange(socket_, -1); }

 private:
  int socket_;
};

// CountedIn: points to a counter to which the code that made the pointer has added one. Its destructor subtracts one.
struct TakeOne {
  void operator()(std::atomic<uint64_t>* count) const { count->fetch_sub(1, std::memory_order_relaxed); }
};
using CountedIn = std::unique_ptr<std::atomic<uint64_t>, TakeOne>;

// An accepted connection on its way from the acceptor to an I/O thread.
struct Accepted {
  OwnedSocket socket;  // non-blocking
  IpAddress peer;
  Refusal refusal = Refusal::kNone;   // the reason why it has no place, or only an extra one of loopback (places.h)
  std::unique_ptr<TakenPlace> place;  // null if the connection is to be refused
  CountedIn refused = nullptr;        // counts the connection in ServerCore::refusing; null if it has a place
};

struct ServerCore {
  ServerCore(const ServerSettings& s, HttpRouter r, ConnectionHandlerFactory f, std::shared_ptr<Ledger> l)
      : settings(s),
        router(std::move(r)),
        factory(std::move(f)),
        places(s.max_connections, s.max_connections_per_address),
        ledger(std::move(l)) {}

  // Returns the bytes of waiting output of all connections.
  uint64_t Pending() const {
    uint64_t sum = 0;
    for (const ThreadCounters* thread : counters) sum += thread->pending_bytes.value();
    return sum;
  }

  const ServerSettings settings;
  const HttpRouter router;
  const ConnectionHandlerFactory factory;
  TrustedProxies proxies;                          // Listen sets this member and `certificate`
  std::unique_ptr<ServedCertificate> certificate;  // null if the port does not speak TLS
  std::vector<const ThreadCounters*> counters;     // one for each I/O thread
  Places places;
  const std::shared_ptr<Ledger> ledger;
  ServerLogs logs;

  std::atomic<uint64_t> next_id{1};   // the id of the next Connection
  std::atomic<uint64_t> refusing{0};  // the number of connections that are being refused
  std::atomic<bool> going{false};     // true once Shutdown was called

  Mutex end_mutex;
  Condition end;  // notified when a session ends or begins to linger, and by ForceShutdown
  bool forced WEIR_GUARDED_BY(end_mutex) = false;  // true once ForceShutdown was called
};

}  // namespace weir
