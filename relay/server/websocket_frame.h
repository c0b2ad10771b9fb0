// What is agreed on compression; and the frames that Beast does not write: what is not compressed, and the last ones to
// a client whose own it has refused, which ends its stream, and with it all that could be said there.
#pragma once

#include <boost/beast/websocket/option.hpp>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "relay/server/buffered_stream.h"

namespace weir {

boost::beast::websocket::permessage_deflate DeflateFor(std::string_view offer);

enum class Opcode : uint8_t { kText = 1, kClose = 8 };

// A whole message, not compressed.
void AppendFrame(BufferedStream& stream, Opcode opcode, std::initializer_list<std::string_view> parts);

// Takes the close frame without a reason, which Beast has just written, from the end of the output. Returns its code;
// 1002 where none is there.
uint16_t TakeBackClose(BufferedStream& stream);

}  // namespace weir
