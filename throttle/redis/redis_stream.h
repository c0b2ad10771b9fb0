// RedisStream: a TCP connection to one address, with or without TLS. Knows nothing of Redis.
//
// Operations under way keep the stream alive; after Close they call nothing.
//
// Threads: the loop's only.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/redis/redis_client_options.h"
#include "throttle/redis/redis_loop.h"
#include "throttle/redis/redis_url.h"

namespace weir {

// How to trust a server; shared by all connections of a store.
struct RedisTls {
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_client};
  bool verify = true;

  // Uses a store's files: the authorities' (empty: the system's), and the client's certificate and key (empty: none).
  static Result<std::shared_ptr<RedisTls>> Make(const RedisClientOptions& options);
};

// Returns true if the host is an IP address.
bool IsNumeric(const std::string& host);
// The host's IP addresses. Waits for the name service.
Result<std::vector<RedisAddress>> ResolveRedisHost(const RedisAddress& address);

class RedisStream final : public std::enable_shared_from_this<RedisStream> {
 public:
  // `tls` may be null, and outlives the stream.
  RedisStream(RedisLoop& loop, RedisTls* tls) : socket_(*loop.io()), tls_(tls) {}

  // The problem is empty if it was done.
  using Done = std::function<void(const std::string& problem)>;
  using Got = std::function<void(const std::string& problem, std::string_view bytes)>;
  // Connects to an IP address.
  void Connect(const RedisAddress& address, Done done);
  // To be called after that: does the handshake, if there is TLS. The certificate must be the host's.
  void Secure(const std::string& host, Done done);
  // Only one at a time.
  void Read(Got got);
  // Only one at a time. Takes the bytes and leaves none. `done` may be called at once, within.
  void Write(std::string* bytes, Done done);
  void Close();

 private:
  using Socket = boost::asio::ip::tcp::socket;
  template <typename Use>
  void WithLayer(Use use);
  std::string Describe(const boost::system::error_code& error) const;

  Socket socket_;
  RedisTls* const tls_;
  std::optional<boost::asio::ssl::stream<Socket&>> secure_;
  bool closed_ = false;
  std::string writing_;
  std::array<char, size_t{64} << 10> read_;
};

}  // namespace weir
