// The part of the WebSocket protocol that the server does without Beast: it agrees on compression, and writes text
// messages without compression, and the close frame when Beast can write no more. Beast ends its stream when it refuses
// a client's frame, but the client still gets the answers that it is owed and a close frame with a reason.
#pragma once

#include <boost/beast/websocket/option.hpp>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "relay/server/buffered_stream.h"

namespace weir {

// Returns Beast's options for permessage-deflate that suit the client's `offer`, the header Sec-WebSocket-Extensions.
boost::beast::websocket::permessage_deflate DeflateFor(std::string_view offer);

enum class Opcode : uint8_t { kText = 1, kClose = 8 };

// Appends one frame, which is a whole message without compression. Its payload is `parts`, one behind the other.
void AppendFrame(BufferedStream& stream, Opcode opcode, std::initializer_list<std::string_view> parts);

// Removes the close frame that Beast has just written, without a reason, from the end of the stream's output. Returns
// the code of that frame. If the output does not end with such a frame, removes nothing and returns 1002 (protocol
// error).
uint16_t TakeBackClose(BufferedStream& stream);

}  // namespace weir
