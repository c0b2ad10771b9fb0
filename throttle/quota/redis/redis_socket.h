// RedisSocket: a non-blocking TCP socket, with TLS over it or not. Knows nothing of Redis.
//
// One thread.
#pragma once

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

// How to trust a server; shared by all connections of a store.
class RedisTls {
 public:
  // Of a PEM file, or the system's authorities where it is empty. Without `verify` any certificate will do.
  static Result<std::shared_ptr<RedisTls>> Make(const std::string& ca_file, bool verify);
  SSL_CTX* context() const { return context_.get(); }
  bool verify() const { return verify_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  bool verify_ = true;
};

struct RedisSocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};
// Waits for the name service, unless the host is an address.
Result<std::vector<RedisSocketAddress>> ResolveRedisHost(const std::string& host, uint16_t port, bool numeric_only);

class RedisSocket {
 public:
  // What a step came to: done, or it goes on when the socket can be read, or written; or it has failed.
  enum class Step : uint8_t { kDone, kWantsRead, kWantsWrite, kFailed };

  RedisSocket() = default;
  ~RedisSocket() { Close(); }
  RedisSocket(const RedisSocket&) = delete;
  RedisSocket& operator=(const RedisSocket&) = delete;

  Step Connect(const RedisSocketAddress& address);
  Step FinishConnect();
  // With TLS after FinishConnect; `host` is what the certificate must be for.
  Status BeginTls(const RedisTls& tls, const std::string& host);
  Step Handshake();
  // *count: of bytes. kDone with 0 read: the other end has closed.
  Step Read(char* buffer, size_t size, size_t* count);
  Step Write(std::string_view bytes, size_t* count);
  void Close();

  int fd() const { return fd_; }
  bool has_tls() const { return ssl_ != nullptr; }
  bool HasBuffered() const { return ssl_ != nullptr && SSL_pending(ssl_.get()) > 0; }
  const std::string& problem() const { return problem_; }  // of the step that failed

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Step FromSsl(int result, const char* what);

  int fd_ = -1;
  std::unique_ptr<SSL, Free> ssl_;
  std::string problem_;
};

}  // namespace weir
