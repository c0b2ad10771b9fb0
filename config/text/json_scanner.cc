#include "config/text/json_scanner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "config/text/hex.h"
#include "config/text/json_string.h"

namespace weir {
namespace {

constexpr uint64_t kEach = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

// Returns a word whose bytes have the high bit set where `word` has a zero byte. Bytes after the first of these may
// have the bit set wrongly.
uint64_t ZeroBytes(uint64_t word) { return (word - kEach) & ~word & kHighBits; }

// Returns the first quote, backslash or control character, or `end` if there is none. Reads eight bytes at a time.
const char* FindSpecial(const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    const uint64_t control = (word - kEach * 0x20) & ~word & kHighBits;
    const uint64_t special = control | ZeroBytes(word ^ kEach * '"') | ZeroBytes(word ^ kEach * '\\');
    if (special != 0) return at + std::countr_zero(special) / 8;
  }
  for (; at != end; ++at) {
    if (static_cast<unsigned char>(*at) < 0x20 || *at == '"' || *at == '\\') return at;
  }
  return end;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Returns true for the characters that end a number, true, false or null.
bool IsDelimiter(char c) { return IsSpace(c) || std::strchr(",:[]{}\"", c) != nullptr; }

// Returns the size of the UTF-8 character that begins at `at`; if the text ends within it, the bytes that are left.
size_t CharacterSize(const char* at, const char* end) {
  const auto byte = static_cast<unsigned char>(*at);
  return std::min<size_t>(byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4, static_cast<size_t>(end - at));
}

// Returns true if `word` matches -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool IsNumber(std::string_view word) {
  const auto digits = [&word] {
    size_t count = 0;
    while (count < word.size() && IsDigit(word[count])) ++count;
    word.remove_prefix(count);
    return count;
  };
  if (word.starts_with('-')) word.remove_prefix(1);
  const bool zero = word.starts_with('0');
  const size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (word.starts_with('e') || word.starts_with('E')) {
    word.remove_prefix(1);
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return word.empty();
}

// Returns the value of the four hexadecimal digits at `at`, or -1 if there are no four digits.
int ReadHex4(const char* at, const char* end) {
  if (end - at < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = HexDigit(at[i]);
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

}  // namespace

std::string Shown(std::string_view text) {
  constexpr size_t kMostBytes = 70;  // enough for an id
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (i >= kMostBytes && (byte & 0xC0) != 0x80) return out + "…";
    if (byte >= 0x20 && byte != 0x7F) {
      out += text[i];
    } else {
      AppendHex(byte, &out.append("\\x"));
    }
  }
  return out;
}

bool JsonScanner::Fail(std::string error) {
  error_ = std::move(error);
  return false;
}

void JsonScanner::SkipSpace() {
  const char* const begin = at_;
  while (at_ != end_ && IsSpace(*at_)) ++at_;
  if (gaps_ != nullptr && at_ != begin) gaps_->push_back({begin, at_});
}

bool JsonScanner::Expect(char c) {
  if (Take(c)) return true;
  return Fail(std::string("JSON must have ") + c + " at byte " + std::to_string(at_ - begin_) + ", not " + Found());
}

JsonScanner::Step JsonScanner::NextItem(char close, bool* first) {
  const char c = Peek();
  if (c == close) {
    ++at_;
    return Step::kEnd;
  }
  if (std::exchange(*first, false)) return Step::kItem;
  if (c == ',') {
    ++at_;
    return Step::kItem;
  }
  Fail(std::string("JSON must have , or ") + close + " at byte " + std::to_string(at_ - begin_) + ", not " + Found());
  return Step::kError;
}

bool JsonScanner::ReadString(JsonString* string) {
  *string = {};
  if (Peek() != '"') return Fail("must be a string, not " + Found());
  const char* const begin = at_ + 1;
  const char* at = begin;
  while (true) {
    at = FindSpecial(at, end_);
    if (at == end_) return Fail("has no closing quote");
    if (*at == '"') break;
    if (*at != '\\') return Fail("has a control character that is not escaped");
    if (!ReadEscape(&at, string)) return false;
  }
  string->raw = {begin, static_cast<size_t>(at - begin)};
  at_ = at + 1;
  return true;
}

// Moves `*at` from a backslash past its escape. A surrogate pair counts as one escape.
bool JsonScanner::ReadEscape(const char** at, JsonString* string) {
  string->escaped = true;
  const char* p = *at + 1;
  if (p == end_) return Fail("has no closing quote");
  if (*p != 'u') {
    if (std::strchr("\"\\/bfnrt", *p) == nullptr || *p == '\0') {
      return Fail("has an escape that JSON does not know, a backslash before \"" + Shown({p, CharacterSize(p, end_)}) +
                  "\"");
    }
    if (*p == '/') string->canonical = false;
    *at = p + 1;
    return true;
  }
  const int code = ReadHex4(p + 1, end_);
  if (code < 0) return Fail("has \\u without four hexadecimal digits");
  if (code == 0) return Fail("has the character \\u0000, which is not allowed");
  *at = p + 5;
  if (code >= 0xD800 && code <= 0xDFFF) {
    const bool pair = code < 0xDC00 && end_ - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u';
    const int low = pair ? ReadHex4(*at + 2, end_) : -1;
    if (low < 0xDC00 || low > 0xDFFF) return Fail("has half of a surrogate pair, \\" + std::string(p, 5));
    *at += 6;
  }
  if (code < 0x20 && JsonEscapeLetter(static_cast<char>(code)) == 'u') {
    string->controls = true;
    string->canonical &= p[4] < 'A' || p[4] > 'F';
  } else {
    string->canonical = false;
  }
  return true;
}

bool JsonScanner::ReadName(JsonString* name) {
  if (!ReadString(name)) return Fail("the name of a field " + error_);
  return Expect(':');
}

bool JsonScanner::ReadWhole(uint64_t* number) {
  if (!IsDigit(Peek())) return false;
  const char* p = at_;
  uint64_t value = 0;
  for (; p != end_ && IsDigit(*p); ++p) {
    const uint64_t digit = static_cast<uint64_t>(*p - '0');
    if (value > (UINT64_MAX - digit) / 10) {
      value = UINT64_MAX;
    } else {
      value = value * 10 + digit;
    }
  }
  if (*at_ == '0' && p - at_ > 1) return false;
  if (p != end_ && !IsDelimiter(*p)) return false;
  at_ = p;
  *number = value;
  return true;
}

bool JsonScanner::SkipValue(int depth) {
  if (depth > kMaxDepth) return Fail("JSON must not be nested deeper than " + std::to_string(kMaxDepth) + " levels");
  switch (Peek()) {
    case '"': {
      JsonString string;
      return ReadString(&string) || Fail("a string " + error_);
    }
    case '[':
      ++at_;
      return SkipItems(']', depth);
    case '{':
      ++at_;
      return SkipItems('}', depth);
    default:
      return SkipWord();
  }
}

bool JsonScanner::ReadValue(std::string_view* value) {
  Peek();
  const char* const begin = at_;
  if (!SkipValue()) return false;
  *value = {begin, static_cast<size_t>(at_ - begin)};
  return true;
}

bool JsonScanner::ReadList(std::vector<std::string_view>* items) {
  items->clear();
  if (!Expect('[')) return false;
  bool first = true;
  for (;;) {
    const Step step = NextItem(']', &first);
    if (step != Step::kItem) return step == Step::kEnd;
    if (!ReadValue(&items->emplace_back())) return false;
  }
}

bool JsonScanner::SkipItems(char close, int depth) {
  bool first = true;
  while (true) {
    const Step step = NextItem(close, &first);
    if (step != Step::kItem) return step == Step::kEnd;
    JsonString name;
    if (close == '}' && !ReadName(&name)) return false;
    if (!SkipValue(depth + 1)) return false;
  }
}

bool JsonScanner::SkipWord() {
  const char* p = at_;
  while (p != end_ && !IsDelimiter(*p)) ++p;
  const std::string_view word(at_, static_cast<size_t>(p - at_));
  if (word != "true" && word != "false" && word != "null" && !IsNumber(word)) {
    return Fail("JSON must have a value at byte " + std::to_string(at_ - begin_) + ", not " + Found());
  }
  at_ = p;
  return true;
}

std::string JsonScanner::Found() {
  const char c = Peek();
  if (at_ == end_) return "the end of the text";
  if (c == '[') return "an array";
  if (c == '{') return "an object";
  if (c == '"') {
    std::string error = error_;
    JsonString string;
    const char* const begin = at_;
    const bool good = ReadString(&string);
    at_ = begin;
    error_ = std::move(error);
    return good ? '"' + Shown(string.raw) + '"' : "a broken string";
  }
  const char* p = at_;
  while (p != end_ && !IsDelimiter(*p)) ++p;
  if (p == at_) p += CharacterSize(p, end_);
  return Shown({at_, static_cast<size_t>(p - at_)});
}

}  // namespace weir
