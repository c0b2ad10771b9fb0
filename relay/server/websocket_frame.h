// Agrees on compression, and writes the frames that Beast does not: those that are not compressed, and the last ones to
// a client whose frame Beast has refused. A refusal ends Beast's stream, so nothing more can be sent through it.
#pragma once

#include <boost/beast/websocket/option.hpp>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "relay/server/buffered_stream.h"

namespace weir {

boost::beast::websocket::permessage_deflate DeflateFor(std::string_view offer);

enum class Opcode : uint8_t { kText = 1, kClose = 8 };

// Appends a whole message, not compressed.
void AppendFrame(BufferedStream& stream, Opcode opcode, std::initializer_list<std::string_view> parts);

// Removes from the end of the output the close frame without a reason that Beast has just written. Returns its code;
// 1002 if there is none.
uint16_t TakeBackClose(BufferedStream& stream);

}  // namespace weir
