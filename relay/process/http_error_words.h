// Extracts the human-readable message from the body of an HTTP error, from a weir (relay/net/http_error.h) or
// another server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Returns the whole message of {"error":{"code":"…","message":"…"}}; nullopt if the body has another form. The message
// may contain any characters, even line breaks.
std::optional<std::string> ErrorMessageIn(std::string_view body);
// Returns the first line of that message, or of the body if the body has another form: at most `most_bytes` bytes,
// without blanks at its ends. The text comes from the other server, so it may contain characters that are unsafe to
// show.
std::string ErrorWordsIn(std::string_view body, size_t most_bytes = 1000);

}  // namespace weir
