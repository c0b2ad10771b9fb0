#include "relay/net/websocket_frame.h"

#include <cstddef>

namespace weir {
namespace {

constexpr uint8_t kLastFragment = 0x80;
constexpr size_t kShort = 126;  // lengths from 126 are written in two bytes, lengths from kLong in eight
constexpr size_t kLong = 65536;

}  // namespace

// Uses no context takeover, and windows of 4 KiB, so that a connection takes about 40 KB instead of about 300 KB.
boost::beast::websocket::permessage_deflate DeflateFor(std::string_view offer) {
  boost::beast::websocket::permessage_deflate deflate;
  deflate.server_enable = true;
  deflate.server_max_window_bits = 12;
  // With this option Beast declines clients that have not said that they support a smaller window.
  if (offer.find("client_max_window_bits") != offer.npos) deflate.client_max_window_bits = 12;
  deflate.server_no_context_takeover = true;
  deflate.client_no_context_takeover = true;
  deflate.compLevel = 3;
  deflate.memLevel = 4;
  deflate.msg_size_threshold = 256;
  return deflate;
}

void AppendFrame(BufferedStream& stream, Opcode opcode, std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  char header[10] = {static_cast<char>(kLastFragment | static_cast<uint8_t>(opcode))};
  const size_t length_bytes = size < kShort ? 0 : size < kLong ? 2 : 8;
  header[1] = static_cast<char>(length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127);
  for (size_t n = 0; n < length_bytes; ++n) header[2 + n] = static_cast<char>(size >> (8 * (length_bytes - 1 - n)));
  stream.Append({header, 2 + length_bytes});
  for (const std::string_view part : parts) stream.Append(part);
}

uint16_t TakeBackClose(BufferedStream& stream) {
  constexpr std::string_view kBareClose = "\x88\x02";
  constexpr size_t kBytes = 4;
  const std::string_view output = stream.output();
  if (output.size() >= kBytes && output.substr(output.size() - kBytes, 2) == kBareClose) {
    const auto high = static_cast<uint8_t>(output[output.size() - 2]);
    const auto low = static_cast<uint8_t>(output.back());
    stream.TakeBack(kBytes);
    return static_cast<uint16_t>(high << 8 | low);
  }
  return 1002;
}

}  // namespace weir
