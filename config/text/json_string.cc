#include "config/text/json_string.h"

#include <algorithm>

#include "config/text/hex.h"
#include "config/text/utf8.h"

namespace weir {

void AppendJsonEscape(char c, std::string* out) {
  const char letter = JsonEscapeLetter(c);
  out->push_back('\\');
  out->push_back(letter);
  if (letter != 'u') return;
  out->append("00");
  AppendHex(static_cast<unsigned char>(c), out);
}

void AppendUnicodeEscape(char32_t c, std::string* out) {
  out->append("\\u");
  AppendHex(static_cast<unsigned char>(c >> 8), out);
  AppendHex(static_cast<unsigned char>(c & 0xff), out);
}

void AppendSafeJson(std::string_view json, std::string* out) {
  while (!json.empty()) {
    const size_t length = std::max<size_t>(Utf8Length(json), 1);
    const char32_t c = Utf8Character(json.substr(0, length));
    if (c >= 0x7f && IsUnsafeToShow(c)) {
      AppendUnicodeEscape(c, out);
    } else {
      out->append(json, 0, length);
    }
    json.remove_prefix(length);
  }
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  size_t plain = 0;  // start of the text that is not yet written
  for (size_t i = 0; i < text.size(); ++i) {
    if (JsonEscapeLetter(text[i]) == 0) continue;
    out->append(text, plain, i - plain);
    AppendJsonEscape(text[i], out);
    plain = i + 1;
  }
  out->append(text, plain);
  out->push_back('"');
}

std::string QuotedJson(std::string_view text) {
  std::string json;
  AppendJsonString(text, &json);
  return json;
}

}  // namespace weir
