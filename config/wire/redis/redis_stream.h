// RedisStream: a TCP connection to one address, with or without TLS. It does not depend on the Redis protocol.
//
// A std::shared_ptr must own the stream. Operations that have not finished keep it alive. After Close, none of them
// calls its callback.
//
// Threads: only the loop's thread (redis_loop.h) may use a RedisStream.
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
#include "config/wire/redis/redis_client_options.h"
#include "config/wire/redis/redis_loop.h"
#include "config/wire/redis/redis_url.h"

namespace weir {

// How TLS connections verify the server, and which certificate they send. All connections of a store share it.
struct RedisTls {
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_client};
  bool verify = true;

  // Reads the files that `options` names: the certificate authorities (empty: those of the system), and the client's
  // certificate and key (empty: none). Does not read the authorities if `options` verifies no certificate. Returns an
  // error that names the file if a file cannot be used, or if a certificate has no key, or a key no certificate.
  static Result<std::shared_ptr<RedisTls>> Make(const RedisClientOptions& options);
};

// Returns true if the host is an IP address.
bool IsNumeric(const std::string& host);
// Returns the IP addresses of a host, each with the port of `address`. Blocks while it asks the name service.
Result<std::vector<RedisAddress>> ResolveRedisHost(const RedisAddress& address);

class RedisStream final : public std::enable_shared_from_this<RedisStream> {
 public:
  // `tls` must outlive the stream; null: no TLS.
  RedisStream(RedisLoop& loop, RedisTls* tls) : socket_(*loop.io()), tls_(tls) {}

  // Callbacks. Each is called once, unless Close is called before. `problem` is empty if the operation has succeeded.
  // `bytes` is valid only until the callback returns.
  using Done = std::function<void(const std::string& problem)>;
  using Got = std::function<void(const std::string& problem, std::string_view bytes)>;
  // Connects to `address`, whose host must be an IP address.
  void Connect(const RedisAddress& address, Done done);
  // Does the TLS handshake; without TLS, calls `done` at once. REQUIRES: Connect has succeeded. The certificate must be
  // for `host`, unless RedisTls::verify is false.
  void Secure(const std::string& host, Done done);
  // Calls `got` with the next bytes that arrive. Only one Read may be in progress at a time.
  void Read(Got got);
  // Writes all of `bytes`, and leaves the string empty. Only one Write may be in progress at a time. May call `done`
  // before it returns.
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
