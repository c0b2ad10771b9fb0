#include "config/text/json_string.h"

#include "config/text/hex.h"

namespace weir {

void AppendJsonEscape(char c, std::string* out) {
  const char letter = JsonEscapeLetter(c);
  out->push_back('\\');
  out->push_back(letter);
  if (letter != 'u') return;
  out->append("00");
  AppendHex(static_cast<unsigned char>(c), out);
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  size_t plain = 0;  // where what is not yet written begins
  for (size_t i = 0; i < text.size(); ++i) {
    if (JsonEscapeLetter(text[i]) == 0) continue;
    out->append(text, plain, i - plain);
    AppendJsonEscape(text[i], out);
    plain = i + 1;
  }
  out->append(text, plain);
  out->push_back('"');
}

}  // namespace weir
