// Extracts the message for people from the body of an HTTP error. Servers of weir write the body as
// relay/net/http_error.h says; other servers may write anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Returns the whole message of a body of the form {"error":{"code":"…","message":"…"}}; nullopt if the body has no such
// message. The message may contain any characters, even line breaks.
std::optional<std::string> ErrorMessageIn(std::string_view body);
// Returns the first line of that message, or of the body if it has no such message: at most `most_bytes` bytes, without
// blanks at its ends. The text comes from whichever server answered, so it may contain characters that are unsafe to
// show.
std::string ErrorWordsIn(std::string_view body, size_t most_bytes = 1000);

}  // namespace weir
