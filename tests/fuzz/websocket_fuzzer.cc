// WebSocket frames behind a handshake: the same messages arrive, and the same close code is sent, whether the frames
// come at once or in pieces. The lower seven bits of the first byte give the size of the pieces; its highest bit says
// whether the client compresses.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/text/utf8.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/served.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

constexpr size_t kMostBytes = 20'000;

// The messages of the only connection.
std::vector<std::string> messages;

class Keeps final : public ConnectionHandler {
 public:
  explicit Keeps(Connection& connection) : connection_(connection) {}

  void OnText(std::string_view text) override {
    Must(text.size() <= kMostBytes && IsUtf8(text));
    messages.emplace_back(text);
    connection_.Send(std::string(text));
  }
  void OnReadEnd() override {}
  void OnShutdown(std::function<void()> done) override { done(); }
  void OnEnd(std::string_view) override {}

 private:
  Connection& connection_;
};

ServerSettings Settings() {
  ServerSettings settings;
  settings.compression = true;
  settings.max_message_bytes = kMostBytes;
  return settings;
}

// Returns the code of the last close frame, or 0 if there is none.
int CloseCodeIn(std::string_view said) {
  int code = 0;
  Must(said.starts_with("HTTP/1.1 101 "));
  said.remove_prefix(said.find("\r\n\r\n") + 4);
  while (said.size() >= 2) {
    const auto byte = [said](size_t at) { return at < said.size() ? static_cast<uint8_t>(said[at]) : 0; };
    const size_t length = byte(1);
    const size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
    size_t size = more == 0 ? length : 0;
    for (size_t i = 0; i < more; ++i) size = size << 8 | byte(2 + i);
    Must(length < 128, "a server does not mask");
    Must(size + more + 2 <= said.size(), "whole frames are said");
    if ((byte(0) & 15) == 8) code = size < 2 ? 1 : byte(2) << 8 | byte(3);
    said.remove_prefix(2 + more + size);
  }
  return code;
}

void Check(std::string_view frames) {
  static Served served(
      HttpRouter(), [](Connection& connection) { return std::make_shared<Keeps>(connection); }, Settings());
  const uint8_t choice = TakeByte(&frames);
  const bool deflates = choice >= 128;
  const std::string extension = !deflates ? "" : "Sec-WebSocket-Extensions: permessage-deflate\r\n";
  const std::string handshake =
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
      extension + "\r\n";
  const std::string sent = handshake + std::string(frames);
  const auto answer = [&](const std::vector<std::string_view>& pieces) {
    messages.clear();
    const int code = CloseCodeIn(served.Answer(pieces));
    return std::pair(messages, code);
  };
  std::vector<std::string_view> pieces = Cut(frames, 1 + choice % 128);
  pieces.insert(pieces.begin(), handshake);
  const auto [whole, code] = answer({sent});
  const auto [in_pieces, code_in_pieces] = answer(pieces);
  // If several parts are broken, Beast may find another one first, because it checks inflated data only when more
  // comes.
  Must(deflates || code == code_in_pieces, std::to_string(code) + ", in pieces " + std::to_string(code_in_pieces));
  Must(whole == in_pieces, std::to_string(whole.size()) + " messages, in pieces " + std::to_string(in_pieces.size()));
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
