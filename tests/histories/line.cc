#include "tests/histories/line.h"

#include <poll.h>
#include <sys/socket.h>

namespace weir::histories {

std::optional<std::string> Line::Next(std::chrono::milliseconds patience, size_t most) {
  if (auto message = Take(); message || !open_) return message;
  pollfd readable{.fd = client_.socket(), .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, static_cast<int>(patience.count())) <= 0) return std::nullopt;
  const ssize_t bytes = recv(client_.socket(), reader_.Space(most), most, MSG_DONTWAIT);
  open_ = bytes > 0;
  if (open_) reader_.Filled(static_cast<size_t>(bytes));
  return Take();
}

std::optional<std::string> Line::Take() {
  while (open_) {
    const FrameReader::Item item = reader_.Next();
    if (item.kind == FrameReader::Kind::kMessage) return std::string(item.payload);
    if (item.kind == FrameReader::Kind::kNone) return std::nullopt;
    if (item.kind == FrameReader::Kind::kPing) open_ = client_.Send(ClientFrame(kPong, item.payload));
    if (item.kind == FrameReader::Kind::kClose || item.kind == FrameReader::Kind::kError) open_ = false;
  }
  return std::nullopt;
}

}  // namespace weir::histories
