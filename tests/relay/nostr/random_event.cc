#include "tests/relay/nostr/random_event.h"

#include <algorithm>
#include <vector>

namespace weir {
namespace {

// Returns the size of the UTF-8 character at the front.
size_t CharacterSize(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

uint32_t CodeOf(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return byte;
  uint32_t code = byte & (0x7FU >> character.size());
  for (char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

}  // namespace

std::string RandomEvents::Hex(size_t digits) {
  std::string hex;
  while (hex.size() < digits) hex += "0123456789abcdef"[Below(16)];
  return hex;
}

std::string RandomEvents::Text(size_t most_characters) {
  static const std::vector<std::string> odd = {
      "\"", "\\", "\n",     "\r",     "\t", "\b", "\f",         "/",       "\x01", "\x1f", "\x7f", "\xC2\x80", "é",
      "ÿ",  "€",  "\u2028", "\uFFFF", "😀",  "𐀀",  "\U0010FFFF", "\\u0041", "\\",   "{",    "]",    ",",        ":"};
  std::string text;
  for (uint64_t n = Below(most_characters + 1); n > 0; --n) {
    text += OneIn(4) ? odd[Below(odd.size())] : std::string{static_cast<char>(' ' + Below(95))};
  }
  return text;
}

ReferenceEvent RandomEvents::Event() {
  static const std::vector<std::string> names = {"e", "p", "t",          "d",     "E", "-",
                                                 "é", "1", "expiration", "nonce", "",  "ee"};
  ReferenceEvent event;
  event.pubkey = Hex(64);
  event.sig = Hex(128);
  event.created_at = OneIn(5) ? Below(INT64_MAX) : Below(2'000'000'000);
  event.kind = Below(65536);
  event.content = Text(60);
  for (uint64_t n = Below(5); n > 0; --n) {
    event.tags.push_back({names[Below(names.size())]});
    for (uint64_t items = Below(4); items > 0; --items) {
      event.tags.back().push_back(OneIn(3) ? std::to_string(Below(3)) : OneIn(2) ? Hex(64) : Text(20));
    }
  }
  event.id = HexOfSha256(CanonicalText(event, /*controls_escaped=*/!OneIn(4)));
  return event;
}

std::string RandomEvents::Space(unsigned oddity) {
  std::string space;
  while (oddity > 1 && OneIn(3)) space += " \t\r\n"[Below(4)];
  return space;
}

std::string RandomEvents::WriteCharacter(std::string_view character, unsigned oddity) {
  const uint32_t code = CodeOf(character);
  const size_t letter = std::string_view("\"\\\b\f\n\r\t/").find(character);
  const bool short_form = letter != std::string_view::npos && (code != '/' || (oddity > 0 && OneIn(2)));
  const bool odd = oddity > 0 && OneIn(8);
  if (short_form && !odd) return {'\\', "\"\\bfnrt/"[letter]};
  if (code >= 0x20 && code != '"' && code != '\\' && !odd) return std::string(character);
  const auto escape = [&](uint32_t unit) {
    char text[8];
    std::snprintf(text, sizeof(text), oddity > 0 && OneIn(2) ? "\\u%04X" : "\\u%04x", unit);
    return std::string(text);
  };
  if (code < 0x10000) return escape(code);
  return escape(0xD800 + ((code - 0x10000) >> 10)) + escape(0xDC00 + ((code - 0x10000) & 0x3FF));
}

std::string RandomEvents::WriteString(std::string_view text, unsigned oddity) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    out += WriteCharacter(text.substr(0, size), oddity);
    text.remove_prefix(size);
  }
  return out + "\"";
}

std::string RandomEvents::UnknownValue(unsigned depth) {
  static const std::vector<std::string> words = {"null",  "true",    "false", "0",  "-1.5e+30",
                                                 "1e999", "\"{[,\"", "[]",    "{ }"};
  if (depth == 0 || OneIn(2)) return words[Below(words.size())];
  if (OneIn(2)) return "[" + UnknownValue(depth - 1) + Space(3) + "," + UnknownValue(depth - 1) + "]";
  return "{\"id\":" + UnknownValue(depth - 1) + "," + Space(3) + WriteString(Text(5), 3) + ":1}";
}

std::string RandomEvents::Write(const ReferenceEvent& event, unsigned oddity) {
  std::string tags;
  for (const auto& tag : event.tags) {
    std::string items;
    for (const std::string& item : tag) {
      items += (items.empty() ? "" : Space(oddity) + ",") + Space(oddity) + WriteString(item, oddity);
    }
    tags += (tags.empty() ? "" : ",") + Space(oddity) + "[" + items + Space(oddity) + "]" + Space(oddity);
  }
  const auto name = [&](std::string_view text) { return WriteString(text, oddity > 2 && OneIn(4) ? 3 : 0); };
  const auto colon = [&] { return Space(oddity) + ":" + Space(oddity); };
  std::vector<std::string> fields = {name("id") + colon() + "\"" + event.id + "\"",
                                     name("pubkey") + colon() + "\"" + event.pubkey + "\"",
                                     name("created_at") + colon() + std::to_string(event.created_at),
                                     name("kind") + colon() + std::to_string(event.kind),
                                     name("tags") + colon() + "[" + tags + "]",
                                     name("content") + colon() + WriteString(event.content, oddity),
                                     name("sig") + colon() + "\"" + event.sig + "\""};
  while (oddity > 2 && OneIn(2)) fields.push_back(WriteString("x" + Text(4), 3) + colon() + UnknownValue(3));
  if (oddity > 1) std::shuffle(fields.begin(), fields.end(), random_);
  std::string json;
  for (const std::string& field : fields) {
    json += (json.empty() ? "" : ",") + Space(oddity) + field + Space(oddity);
  }
  return Space(oddity) + "{" + json + "}" + Space(oddity);
}

std::string RandomEvents::Mutated(std::string text) {
  static const std::vector<std::string> pieces = {
      "\"",   "\\",   "{",    "}",    "[",    "]",     ",",       ":",       "0",
      "1",    "-",    ".",    "e",    "a",    "F",     " ",       "\n",      "\x01",
      "\x7f", "\xC3", "\xA9", "\xFF", "null", "\\u00", "\\ud83d", "\\u0000", std::string(1, '\0')};
  for (uint64_t n = 1 + Below(2); n > 0; --n) {
    const size_t at = Below(text.size());
    text.replace(at, Below(3), OneIn(3) ? "" : pieces[Below(pieces.size())]);
    if (text.empty()) text = " ";
  }
  return text;
}

}  // namespace weir
