// WebSocketClient: a connection to a WebSocket server (RFC 6455), as a client, without or with TLS. It offers no
// compression. Its calls block at most until their patience ends (config/wire/http/client_stream.h).
//
//   WebSocketClient client({.server = {.host = "relay.example", .port = "443", .tls = true}});
//   Status status = client.Open(patience);
//   if (status.ok()) status = client.Send(R"(["REQ","a",{"limit":1}])", patience);
//   const Result<std::optional<std::string_view>> message = client.Receive(patience);
//
// After an error the connection is of no further use. An error is a sentence for the operator.
//
// Threads: only one thread at a time may use a client.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/wire/http/client_stream.h"
#include "config/wire/websocket/client_frames.h"

namespace weir {

struct WebSocketTarget {
  ClientStream::Server server;
  std::string path = "/";  // percent-encoded
  std::string user_agent = {};
};

class WebSocketClient {
 public:
  using Patience = ClientStream::Patience;

  explicit WebSocketClient(WebSocketTarget target);

  // Connects, and asks the server for a WebSocket. Call it once, before all other functions.
  Status Open(const Patience& patience);
  // Sends one text message. The server may not have received it when the call returns.
  Status Send(std::string_view text, const Patience& patience);
  // Asks the server for a pong. One that comes counts in bytes_received; Receive does not return it.
  Status Ping(const Patience& patience) { return SendFrame(WebSocketOpcode::kPing, {}, patience); }
  // Returns the next message, which is valid until the next call of any function; nullopt if the patience ends first.
  // Answers the server's pings. If the server closes the connection, returns an error with its reason.
  Result<std::optional<std::string_view>> Receive(const Patience& patience);
  // The bytes of frames, and of what the server sends before its first frame.
  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  Status SendFrame(WebSocketOpcode opcode, std::string_view payload, const Patience& patience);
  Status ReadMore(const Patience& patience, bool* late);
  Status TakeAnswer(const std::string& key, const Patience& patience);
  void Keep();

  const WebSocketTarget target_;
  ClientStream stream_;
  FrameReader reader_;
  std::string read_;
  std::string frame_;
  std::mt19937 masks_{std::random_device{}()};
  uint64_t bytes_sent_ = 0;
  uint64_t bytes_received_ = 0;
};

}  // namespace weir
