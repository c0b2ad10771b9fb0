// One WebSocket to the relay: the handshake blocks, everything after it does not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/relay/endpoint.h"
#include "bench/relay/frames.h"
#include "config/status.h"

namespace weir {

class ClientSocket {
 public:
  // `headers` are further lines of the handshake, each with its end.
  static Result<std::unique_ptr<ClientSocket>> Open(const Endpoint& endpoint, const std::string& headers = {});
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  int fd() const { return fd_; }

  // Masks one message, which goes out with the next Flush.
  void SendText(std::string_view payload);
  // Takes whole frames without a copy: they must stay where they are until they are sent. Frames that are lent later
  // must follow in memory on those that were lent before.
  void Lend(std::string_view frames);

  // Writes what the socket takes. Frames lent go before messages, unless a message has begun.
  Status Flush();
  bool wants_to_write() const { return !lent_.empty() || own_sent_ < own_.size(); }

  // Reads once and hands over every message that is complete. A ping is answered; a close is an error that says why.
  Status Receive(const std::function<void(std::string_view message)>& take);

 private:
  explicit ClientSocket(int fd) : fd_(fd) {}
  Status Handshake(const Endpoint& endpoint, const std::string& headers);
  Status TakeAll(const std::function<void(std::string_view message)>& take);
  // Writes all of it, or as much as fits; returns how much.
  Result<size_t> Write(std::string_view bytes);

  const int fd_;
  FrameReader reader_;
  std::string own_;
  size_t own_sent_ = 0;
  std::string_view lent_;
  uint32_t next_mask_ = 0x9e3779b9;
};

}  // namespace weir
