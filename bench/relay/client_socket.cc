#include "bench/relay/client_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir {
namespace {

constexpr size_t kReadBytes = size_t{32} << 10;  // some 300 OKs: 0.3 ms until the next connection has its turn
constexpr int kHandshakeMs = 10'000;

std::string LastError() { return std::strerror(errno); }

}  // namespace

Result<std::unique_ptr<ClientSocket>> ClientSocket::Open(const Endpoint& endpoint, const std::string& headers) {
  const Result<int> fd = ConnectTo(endpoint);
  if (!fd.ok()) return fd.status();
  std::unique_ptr<ClientSocket> connection(new ClientSocket(fd.value()));
  if (Status s = connection->Handshake(endpoint, headers); !s.ok()) return s;
  if (fcntl(fd.value(), F_SETFL, O_NONBLOCK) != 0) return Status::Error("fcntl: " + LastError());
  return connection;
}

ClientSocket::~ClientSocket() { close(fd_); }

// Sec-WebSocket-Accept is not verified: it guards against caches that answer in place of a server, and loopback has no
// cache.
Status ClientSocket::Handshake(const Endpoint& endpoint, const std::string& headers) {
  const std::string request = "GET " + endpoint.path + " HTTP/1.1\r\nHost: " + endpoint.host + ":" +
                              std::to_string(endpoint.port) +
                              "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              "Sec-WebSocket-Key: d2VpciBsb2FkIGdlbmVyYQ==\r\nSec-WebSocket-Version: 13\r\n" +
                              headers + "\r\n";
  if (send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return Status::Error("cannot send the handshake: " + LastError());
  constexpr size_t kMaxAnswer = 16 << 10;
  std::string answer;
  size_t end = std::string::npos;
  while (end == std::string::npos && answer.size() < kMaxAnswer) {
    pollfd readable{.fd = fd_, .events = POLLIN};
    if (poll(&readable, 1, kHandshakeMs) <= 0) return Status::Error("no answer to the handshake within 10 s");
    char bytes[4096];
    const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) return Status::Error("the relay closed the connection during the handshake");
    answer.append(bytes, static_cast<size_t>(got));
    end = answer.find("\r\n\r\n");
  }
  const std::string status_line = answer.substr(0, answer.find("\r\n"));
  if (end == std::string::npos || status_line.rfind("HTTP/1.1 101", 0) != 0)
    return Status::Error("the relay refused the WebSocket: " + status_line);
  const std::string_view early = std::string_view(answer).substr(end + 4);  // a relay may speak first
  if (!early.empty()) std::memcpy(reader_.Space(early.size()), early.data(), early.size());
  reader_.Filled(early.size());
  return Status();
}

void ClientSocket::SendText(std::string_view payload) {
  if (own_sent_ == own_.size()) {
    own_.clear();
    own_sent_ = 0;
  }
  next_mask_ = next_mask_ * 1664525 + 1013904223;
  AppendClientFrame(WebSocketOpcode::kText, payload, next_mask_, &own_);
}

void ClientSocket::Lend(std::string_view frames) {
  lent_ = lent_.empty() ? frames : std::string_view(lent_.data(), lent_.size() + frames.size());
}

Status ClientSocket::Flush() {
  const auto flush_own = [this]() -> Status {
    const auto sent = Write(std::string_view(own_).substr(own_sent_));
    if (!sent.ok()) return sent.status();
    own_sent_ += sent.value();
    return Status();
  };
  const bool message_has_begun = own_sent_ > 0 && own_sent_ < own_.size();
  if (message_has_begun) {
    if (Status s = flush_own(); !s.ok()) return s;
    if (own_sent_ < own_.size()) return Status();
  }
  const auto sent = Write(lent_);
  if (!sent.ok()) return sent.status();
  lent_.remove_prefix(sent.value());
  return lent_.empty() ? flush_own() : Status();
}

Result<size_t> ClientSocket::Write(std::string_view bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::Error("the relay is gone: " + LastError());
    sent += static_cast<size_t>(n);
  }
  return sent;
}

Status ClientSocket::Receive(const std::function<void(std::string_view message)>& take) {
  const ssize_t got = recv(fd_, reader_.Space(kReadBytes), kReadBytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Status();
  if (got < 0) return Status::Error("the relay is gone: " + LastError());
  if (got == 0) return Status::Error("the relay closed the connection without a close frame");
  reader_.Filled(static_cast<size_t>(got));
  return TakeAll(take);
}

Status ClientSocket::TakeAll(const std::function<void(std::string_view message)>& take) {
  for (;;) {
    const FrameReader::Item item = reader_.Next();
    switch (item.kind) {
      case FrameReader::Kind::kNone:
        return Status();
      case FrameReader::Kind::kMessage:
        take(item.payload);
        break;
      case FrameReader::Kind::kPing:
        next_mask_ += 1;
        AppendClientFrame(WebSocketOpcode::kPong, item.payload, next_mask_, &own_);
        break;
      case FrameReader::Kind::kPong:
        break;
      case FrameReader::Kind::kClose:
        return Status::Error("the relay closed the connection: " + DescribeClose(item.payload));
      case FrameReader::Kind::kError:
        return Status::Error("the relay broke the WebSocket protocol: " + std::string(item.payload));
    }
  }
}

}  // namespace weir
