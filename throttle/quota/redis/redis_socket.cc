#include "throttle/quota/redis/redis_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace weir {
namespace {

using Step = RedisSocket::Step;

std::string ErrorText(int error) { return std::generic_category().message(error); }

std::string TlsErrorText() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? "the connection was cut" : text;
}

}  // namespace

Result<std::shared_ptr<RedisTls>> RedisTls::Make(const std::string& ca_file, bool verify) {
  auto tls = std::make_shared<RedisTls>();
  tls->verify_ = verify;
  tls->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = tls->context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!verify) return tls;
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) != 1) {
    return Status::Error("certificate authority " + ca_file + ": " + TlsErrorText() +
                         "; it must be a PEM file that can be read");
  }
  return tls;
}

Result<std::vector<RedisSocketAddress>> ResolveRedisHost(const std::string& host, uint16_t port, bool numeric_only) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric_only ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return Status::Error("host " + host + ": " + gai_strerror(error));
  std::vector<RedisSocketAddress> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    RedisSocketAddress address;
    std::memcpy(&address.address, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

Step RedisSocket::Connect(const RedisSocketAddress& address) {
  Close();
  fd_ = socket(address.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ >= 0) {
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address.address), address.size) == 0) return Step::kDone;
    if (errno == EINPROGRESS) return Step::kWantsWrite;
  }
  problem_ = ErrorText(errno);
  return Step::kFailed;
}

Step RedisSocket::FinishConnect() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return Step::kDone;
  problem_ = ErrorText(error);
  return Step::kFailed;
}

Status RedisSocket::BeginTls(const RedisTls& tls, const std::string& host) {
  ssl_.reset(SSL_new(tls.context()));
  if (!ssl_ || SSL_set_fd(ssl_.get(), fd_) != 1) return Status::Error("TLS: " + TlsErrorText());
  in6_addr numeric{};
  const bool is_address =
      inet_pton(AF_INET, host.c_str(), &numeric) == 1 || inet_pton(AF_INET6, host.c_str(), &numeric) == 1;
  if (!is_address) SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
  if (!tls.verify()) return {};
  const bool set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str()) == 1
                              : SSL_set1_host(ssl_.get(), host.c_str()) == 1;
  return set ? Status() : Status::Error("TLS: " + TlsErrorText());
}

Step RedisSocket::Handshake() {
  const Step step = FromSsl(SSL_connect(ssl_.get()), "TLS handshake: ");
  if (step != Step::kFailed) return step;
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK)
    problem_ = std::string("TLS: the server's certificate is not accepted: ") + X509_verify_cert_error_string(verified);
  return step;
}

Step RedisSocket::Read(char* buffer, size_t size, size_t* count) {
  *count = 0;
  if (ssl_) {
    const int result = SSL_read_ex(ssl_.get(), buffer, size, count);
    if (result == 1) return Step::kDone;
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) return Step::kDone;
    return FromSsl(result, "TLS: ");
  }
  const ssize_t got = recv(fd_, buffer, size, 0);
  if (got >= 0) {
    *count = static_cast<size_t>(got);
    return Step::kDone;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return Step::kWantsRead;
  problem_ = ErrorText(errno);
  return Step::kFailed;
}

Step RedisSocket::Write(std::string_view bytes, size_t* count) {
  *count = 0;
  if (ssl_) return FromSsl(SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), count), "TLS: ");
  const ssize_t put = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (put >= 0) {
    *count = static_cast<size_t>(put);
    return Step::kDone;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return Step::kWantsWrite;
  problem_ = ErrorText(errno);
  return Step::kFailed;
}

void RedisSocket::Close() {
  if (ssl_) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  ssl_.reset();
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Step RedisSocket::FromSsl(int result, const char* what) {
  if (result == 1) return Step::kDone;
  const int error = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Step::kWantsRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::kWantsWrite;
    case SSL_ERROR_SYSCALL:
      problem_ = what + (error == 0 ? TlsErrorText() : ErrorText(error));
      break;
    default:
      problem_ = what + TlsErrorText();
  }
  ERR_clear_error();
  return Step::kFailed;
}

}  // namespace weir
