// The words of an answer over HTTP that is an error, of a weir (relay/server/http_error.h) or of another server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// The message of {"error":{"code":"…","message":"…"}}, as it was sent; nothing where it is not of that form.
std::optional<std::string> ErrorMessageIn(std::string_view body);
// The same, or the first line of what is of another form. So much of it at most, on one line.
std::string ErrorWordsIn(std::string_view body, size_t most_bytes = 1000);

}  // namespace weir
