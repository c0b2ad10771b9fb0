// The part of the WebSocket protocol that the server handles without Beast: negotiating compression, writing text
// messages without compression, and writing the close frame when Beast can no longer write, or when the server shuts
// down. Beast ends its stream when it refuses a client's frame, but the server still sends the client its outstanding
// answers, and a close frame with a reason.
#pragma once

#include <boost/beast/websocket/option.hpp>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "relay/net/buffered_stream.h"

namespace weir {

// Returns Beast's options for permessage-deflate. `offer` is the client's header Sec-WebSocket-Extensions.
boost::beast::websocket::permessage_deflate DeflateFor(std::string_view offer);

enum class Opcode : uint8_t { kText = 1, kClose = 8 };

// Appends one frame to the stream's output. The frame is a whole message without compression, whose payload is the
// concatenation of `parts`.
void AppendFrame(BufferedStream& stream, Opcode opcode, std::initializer_list<std::string_view> parts);

// Removes the close frame without a reason that Beast has just written to the end of the stream's output. Returns the
// code of that frame. If the output does not end with such a frame, removes no output and returns 1002 (protocol
// error).
uint16_t TakeBackClose(BufferedStream& stream);

}  // namespace weir
