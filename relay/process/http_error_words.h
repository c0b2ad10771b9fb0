// The message of an HTTP answer that is an error, from a weir (relay/server/http_error.h) or from another server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Returns the message of {"error":{"code":"…","message":"…"}}, as it was sent; nullopt if the body has another form.
std::optional<std::string> ErrorMessageIn(std::string_view body);
// Returns the same, or the first line of a body of another form: at most `most_bytes` of it, on one line.
std::string ErrorWordsIn(std::string_view body, size_t most_bytes = 1000);

}  // namespace weir
