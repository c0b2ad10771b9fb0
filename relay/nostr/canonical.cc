#include "relay/nostr/canonical.h"

#include "config/text/json_string.h"
#include "config/text/json_unescape.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

// Returns the place behind the closing quote of the string that begins at `at`.
const char* StringEnd(const char* at) {
  for (++at; *at != '"'; ++at) {
    if (*at == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

void AppendCanonical(std::string_view json, ControlForm form, std::string* out) {
  const char* at = json.data();
  const char* const end = at + json.size();
  while (at != end) {
    if (*at != '"') {
      if (static_cast<unsigned char>(*at) > ' ') out->push_back(*at);
      ++at;
      continue;
    }
    const char* const string_end = StringEnd(at);
    ReplaceEscapes({at, static_cast<size_t>(string_end - at)}, out, [form, out](char32_t code) {
      const char letter = code < 0x80 ? JsonEscapeLetter(static_cast<char>(code)) : '\0';
      if (letter != 0 && (letter != 'u' || form == ControlForm::kEscaped)) {
        AppendJsonEscape(static_cast<char>(code), out);
      } else {
        AppendUtf8(code, out);
      }
    });
    at = string_end;
  }
}

}  // namespace weir
