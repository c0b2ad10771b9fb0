// Replaces the escapes in strings of JSON by the characters that they stand for. `raw` is the text of a string, with
// or without its quotes (JsonString::raw in json_scanner.h); its escapes must be valid.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace weir {

// Returns the character that the escape at `*at` stands for, and moves `*at` behind the escape.
char32_t ReadJsonEscape(const char** at);

// Appends `raw`, but calls `append` with the character of each escape in place of the escape.
template <typename Append>
void ReplaceEscapes(std::string_view raw, std::string* out, Append append) {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  while (at != end) {
    const void* const found = std::memchr(at, '\\', static_cast<size_t>(end - at));
    const char* const escape = found == nullptr ? end : static_cast<const char*>(found);
    out->append(at, escape);
    if (escape == end) return;
    at = escape;
    append(ReadJsonEscape(&at));
  }
}

// Appends the string's value: `raw` with its escapes replaced by their characters.
void AppendUnescaped(std::string_view raw, std::string* out);

}  // namespace weir
