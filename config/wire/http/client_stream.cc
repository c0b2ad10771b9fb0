#include "config/wire/http/client_stream.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <future>
#include <thread>
#include <utility>

#include "config/text/parse.h"
#include "config/text/url.h"

namespace weir {
namespace {

using SteadyClock = std::chrono::steady_clock;
using StreamError = ClientStream::Error;
using Addresses = std::shared_ptr<addrinfo>;

constexpr std::chrono::milliseconds kLookAtStopEvery{50};
constexpr size_t kPieceBytes = 16 << 10;

std::string TlsReason() {
  const unsigned long error = ERR_get_error();
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "error " + std::to_string(error);
}

// Returns getaddrinfo's error. With AI_NUMERICHOST getaddrinfo asks no server.
int LookUp(const std::string& host, const std::string& port, int flags, Addresses* addresses) {
  const addrinfo hints{.ai_flags = flags, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error == 0) *addresses = Addresses(found, freeaddrinfo);
  return error;
}

StreamError Resolve(const std::string& host, const std::string& port, const ClientStream::Patience& patience,
                    Addresses* addresses) {
  if (LookUp(host, port, AI_NUMERICHOST | AI_NUMERICSERV, addresses) == 0) return {};
  // The system's resolver cannot be interrupted: if the caller stops waiting, the thread goes on by itself.
  auto promise = std::make_shared<std::promise<std::pair<int, Addresses>>>();
  std::future<std::pair<int, Addresses>> answer = promise->get_future();
  std::thread([promise, host, port] {
    try {
      Addresses found;
      const int error = LookUp(host, port, AI_NUMERICSERV, &found);
      promise->set_value({error, std::move(found)});
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  while (true) {
    const auto now = SteadyClock::now();
    if (answer.wait_until(std::min(patience.end, now + kLookAtStopEvery)) == std::future_status::ready) break;
    if (now >= patience.end || patience.stop.stop_requested()) return {StreamError::kLate};
  }
  auto [error, found] = answer.get();
  *addresses = std::move(found);
  if (error == 0) return {};
  return {StreamError::kOther, "cannot find " + Printable(host) + ": " + gai_strerror(error)};
}

}  // namespace

// OpenSSL reads from in_ and writes to out_; the stream carries both over the socket.
class ClientStream::Tls {
 public:
  // Returns an error if TLS cannot begin, for example because a file of certificates cannot be read.
  Error Prepare(const Server& server) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (context_ == nullptr) return CannotBegin();
    ERR_clear_error();
    const int read = server.ca_file.empty() ? SSL_CTX_set_default_verify_paths(context_.get())
                                            : SSL_CTX_load_verify_file(context_.get(), server.ca_file.c_str());
    if (read != 1) {
      const std::string whose =
          server.ca_file.empty() ? "the system's certificates" : "the certificates of " + server.ca_file;
      return {Error::kOther, "cannot read " + whose + ": " + TlsReason()};
    }
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), server.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    ssl_.reset(SSL_new(context_.get()));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr) return CannotBegin();
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_connect_state(ssl_.get());
    in6_addr number;
    int named = 0;
    if (inet_pton(AF_INET, server.host.c_str(), &number) == 1 ||
        inet_pton(AF_INET6, server.host.c_str(), &number) == 1) {
      named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), server.host.c_str());
    } else {
      SSL_set_tlsext_host_name(ssl_.get(), server.host.c_str());
      named = SSL_set1_host(ssl_.get(), server.host.c_str());
    }
    if (named != 1) return CannotBegin();
    return {};
  }

  SSL* get() { return ssl_.get(); }
  void Take(std::string_view bytes) { BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())); }
  std::string TakeToSend() {
    std::string bytes(BIO_ctrl_pending(out_), '\0');
    if (!bytes.empty()) BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  bool has_more() const { return SSL_pending(ssl_.get()) > 0 || BIO_ctrl_pending(in_) > 0; }

 private:
  static Error CannotBegin() { return {Error::kOther, "cannot begin TLS: " + TlsReason()}; }

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;  // owns the two below
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

ClientStream::ClientStream(Server server) : server_(std::move(server)) {}

ClientStream::~ClientStream() {
  if (socket_ >= 0) close(socket_);
}

ClientStream::Error ClientStream::Connect(const Patience& patience) {
  if (server_.tls) {
    tls_ = std::make_unique<Tls>();
    if (Error error = tls_->Prepare(server_)) return error;
  }
  Error error = Dial(patience);
  if (!error && tls_ != nullptr) error = Handshake(patience);
  return error;
}

ClientStream::Error ClientStream::Dial(const Patience& patience) {
  Addresses addresses;
  if (Error error = Resolve(server_.host, server_.port, patience, &addresses)) return error;
  int why = 0;
  int left = 0;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) ++left;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next, --left) {
    // An address that does not answer uses up only its share of the time; the rest is for the addresses after it.
    const auto now = SteadyClock::now();
    const Patience share{.end = now + (patience.end - now) / left, .stop = patience.stop};
    if (socket_ >= 0) close(socket_);
    socket_ = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    why = errno;
    if (socket_ < 0) continue;
    why = connect(socket_, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (why == EINPROGRESS || why == EINTR) {
      const bool answered = Await(POLLOUT, share);
      if (!answered && (left == 1 || patience.stop.stop_requested())) return {Error::kLate};
      socklen_t size = sizeof(why);
      if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &why, &size) != 0) why = errno;
      if (!answered) why = ETIMEDOUT;
    }
    if (why != 0) continue;
    const int no_delay = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
    return {};
  }
  return {Error::kNobodyListens,
          "cannot connect to " + UrlHost(Printable(server_.host)) + ":" + server_.port + ": " + std::strerror(why)};
}

ClientStream::Error ClientStream::Handshake(const Patience& patience) {
  Error error = Do([&] { return SSL_do_handshake(tls_->get()); }, patience);
  if (!error || error.kind == Error::kLate) return error;
  const std::string what = "no TLS with " + UrlHost(Printable(server_.host)) + ":" + server_.port + ": ";
  const int64_t verified = SSL_get_verify_result(tls_->get());
  if (server_.verify && verified != X509_V_OK)
    return {Error::kOther, what + "its certificate is refused: " + X509_verify_cert_error_string(verified)};
  return {Error::kOther, what + error.problem};
}

template <typename Step>
ClientStream::Error ClientStream::Do(Step step, const Patience& patience) {
  while (true) {
    ERR_clear_error();
    const int result = step();
    const int why = result > 0 ? SSL_ERROR_NONE : SSL_get_error(tls_->get(), result);
    Error failed;
    if (why == SSL_ERROR_ZERO_RETURN) failed = {Error::kEnded, "the connection ended"};
    if (why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL) failed = {Error::kOther, TlsReason()};
    Error sent = SendClear(tls_->TakeToSend(), patience);  // an alert, too
    if (failed) return failed;
    if (sent || why == SSL_ERROR_NONE) return sent;
    std::string bytes;
    if (Error error = ReceiveClear(&bytes, patience)) {
      if (error.kind == Error::kEnded) error.kind = Error::kCut;
      return error;
    }
    tls_->Take(bytes);
  }
}

ClientStream::Error ClientStream::Send(std::string_view bytes, const Patience& patience) {
  if (tls_ == nullptr) return SendClear(bytes, patience);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    if (Error error =
            Do([&] { return SSL_write(tls_->get(), piece.data(), static_cast<int>(piece.size())); }, patience))
      return error;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

ClientStream::Error ClientStream::Receive(std::string* bytes, const Patience& patience) {
  if (tls_ == nullptr) return ReceiveClear(bytes, patience);
  std::array<char, kPieceBytes> piece;
  int got = 0;
  Error error = Do([&] { return got = SSL_read(tls_->get(), piece.data(), piece.size()); }, patience);
  if (!error) bytes->append(piece.data(), static_cast<size_t>(got));
  return error;
}

bool ClientStream::IsSpent() const {
  if (tls_ != nullptr && tls_->has_more()) return true;
  char next;
  return recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

ClientStream::Error ClientStream::SendClear(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!Await(POLLOUT, patience)) return {Error::kLate};
    } else if (errno != EINTR) {
      return {Error::kOther, std::strerror(errno)};
    }
  }
  return {};
}

ClientStream::Error ClientStream::ReceiveClear(std::string* bytes, const Patience& patience) {
  std::array<char, kPieceBytes> piece;
  while (true) {
    if (!Await(POLLIN, patience)) return {Error::kLate};
    const ssize_t got = recv(socket_, piece.data(), piece.size(), 0);
    if (got == 0) return {Error::kEnded, "the connection ended"};
    if (got > 0) {
      bytes->append(piece.data(), static_cast<size_t>(got));
      return {};
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return {Error::kOther, std::strerror(errno)};
  }
}

bool ClientStream::Await(short events, const Patience& patience) const {
  while (!patience.stop.stop_requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(patience.end - SteadyClock::now());
    if (left.count() <= 0) return false;
    // A day stands for an unlimited time, because poll takes an int of milliseconds.
    const auto most = patience.stop.stop_possible() ? kLookAtStopEvery : std::chrono::hours(24);
    pollfd socket{.fd = socket_, .events = events};
    const int ready = poll(&socket, 1, static_cast<int>(std::min<std::chrono::milliseconds>(left, most).count()));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // the next call says what is wrong
  }
  return false;
}

}  // namespace weir
