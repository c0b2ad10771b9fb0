// Line: a client's WebSocket connection to a relay of this machine, which can also read a byte at a time.
//
// Threads: only one thread at a time may use a line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "config/wire/websocket/client_frames.h"
#include "tests/fixtures/raw_client.h"

namespace weir::histories {

class Line {
 public:
  // Connects; see is_open().
  explicit Line(uint16_t port, int receive_buffer = 0)
      : client_(port, "127.0.0.1", receive_buffer), open_(client_.connected() && client_.Handshake()) {}

  bool is_open() const { return open_; }
  void Send(std::string_view text) { open_ = open_ && client_.Text(text); }
  // Returns the next message; nullopt if none comes within `patience`, or if the connection has ended. Answers pings.
  // Reads at most `most` bytes at once.
  std::optional<std::string> Next(std::chrono::milliseconds patience, size_t most = 65536);

 private:
  std::optional<std::string> Take();

  RawClient client_;
  bool open_;
  FrameReader reader_;
};

}  // namespace weir::histories
