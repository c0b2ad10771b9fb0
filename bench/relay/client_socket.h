// ClientSocket: one WebSocket connection to the relay. The handshake blocks; all later calls do not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/relay/endpoint.h"
#include "config/status.h"
#include "config/wire/websocket/client_frames.h"

namespace weir {

class ClientSocket {
 public:
  // `headers` are further header lines of the handshake, each with its CR LF.
  static Result<std::unique_ptr<ClientSocket>> Open(const Endpoint& endpoint, const std::string& headers = {});
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  int fd() const { return fd_; }

  // Masks and queues one message, which the next Flush sends.
  void SendText(std::string_view payload);
  // Queues whole frames without copying them. The caller must keep the frames in place until Flush has sent them. If
  // earlier frames are not sent yet, `frames` must follow them directly in memory.
  void Lend(std::string_view frames);

  // Writes as many queued bytes as the socket takes. Frames of Lend go before messages of SendText, except while a
  // message is partly written: then the messages go first.
  Status Flush();
  bool wants_to_write() const { return !lent_.empty() || own_sent_ < own_.size(); }

  // Reads once, and calls `take` with each complete message. Answers pings. If the relay closes the connection, returns
  // an error with its reason.
  Status Receive(const std::function<void(std::string_view message)>& take);

 private:
  explicit ClientSocket(int fd) : fd_(fd) {}
  Status Handshake(const Endpoint& endpoint, const std::string& headers);
  Status TakeAll(const std::function<void(std::string_view message)>& take);
  // Writes as many of the bytes as the socket takes, and returns their number.
  Result<size_t> Write(std::string_view bytes);

  const int fd_;
  FrameReader reader_;
  std::string own_;
  size_t own_sent_ = 0;
  std::string_view lent_;
  uint32_t next_mask_ = 0x9e3779b9;
};

}  // namespace weir
