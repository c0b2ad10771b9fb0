#include "config/text/percent.h"

#include "config/text/hex.h"

namespace weir {
namespace {

// Returns true for a character that need not be escaped anywhere in a URL.
bool IsUnreserved(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || std::string_view("-._~").find(c) != std::string_view::npos;
}

bool NeedsNoEscape(char c) {
  return IsUnreserved(c) || std::string_view("!$&'()*+,;=:@/").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> DecodePercent(std::string_view text, bool takes_zero_bytes) {
  if (text.find('%') == text.npos) return std::string(text);
  std::string decoded;
  for (size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '%') {
      decoded += text[n];
      continue;
    }
    if (n + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[n + 1]);
    const int low = HexDigit(text[n + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0 && !takes_zero_bytes)) return std::nullopt;
    decoded += static_cast<char>(high << 4 | low);
    n += 2;
  }
  return decoded;
}

std::string EncodePercent(std::string_view text) { return EncodePercent(text, IsUnreserved); }

std::string EncodePercent(std::string_view text, bool (*is_kept)(char c)) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_kept(c)) {
      encoded += c;
    } else {
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return encoded;
}

std::optional<std::string> DecodePlainPath(std::string_view raw_path) {
  for (size_t escape = raw_path.find('%'); escape != raw_path.npos; escape = raw_path.find('%', escape + 1)) {
    const auto character = DecodePercent(raw_path.substr(escape, 3));
    if (!character || NeedsNoEscape(character->front())) return std::nullopt;
  }
  return DecodePercent(raw_path);
}

}  // namespace weir
