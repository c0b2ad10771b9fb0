// Reads JSON from left to right in one pass, without building anything: it checks the grammar and tells where things
// are. The text must be UTF-8 (simdjson::validate_utf8); it need not be padded. If a call fails, error() says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// A string of the text, as written between its quotes. It is valid JSON without NUL and without halves of surrogate
// pairs.
struct JsonString {
  std::string_view raw;
  bool escaped = false;   // has a backslash
  bool canonical = true;  // is written as NIP-01 writes it (canonical.h)
  bool controls = false;  // has a control character for which NIP-01 has no short form

  std::string_view quoted() const { return {raw.data() - 1, raw.size() + 2}; }
};

// A piece of the text that the minimal form leaves out.
struct JsonGap {
  const char* begin;
  const char* end;
};

// Returns the text in a form fit for an error: shortened, control characters as \x0a.
std::string Shown(std::string_view text);

class JsonScanner {
 public:
  enum class Step : uint8_t { kItem, kEnd, kError };
  static constexpr int kMaxDepth = 32;

  // White space between tokens is appended to `gaps`.
  explicit JsonScanner(std::string_view text, std::vector<JsonGap>* gaps = nullptr)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), gaps_(gaps) {}

  // Returns the next character that is not white space, without taking it; NUL at the end.
  char Peek() {
    if (at_ != end_ && static_cast<unsigned char>(*at_) > ' ') return *at_;
    SkipSpace();
    return at_ == end_ ? '\0' : *at_;
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  // Takes the character, or fails with an error that tells what is there instead.
  bool Expect(char c);
  bool AtEnd() {
    Peek();
    return at_ == end_;
  }
  const char* at() const { return at_; }
  void BackTo(const char* at) { at_ = at; }

  // Inside an array or object: goes to the next item, or past the closing bracket. `first` starts as true.
  Step NextItem(char close, bool* first);
  // Reads the next token, which must be a string. The error is a clause: "has a control character that is not escaped".
  bool ReadString(JsonString* string);
  // Reads a field's name and its colon.
  bool ReadName(JsonString* name);
  // Reads a whole number written without sign, point, exponent or leading zeros; beyond 2^64-1 it reads as 2^64-1. If
  // it returns false, the scanner stays where it was and sets no error.
  bool ReadWhole(uint64_t* number);
  bool SkipValue(int depth = 0);

  // Describes, for an error, what is at the scanner's position, shortened: `1.5`, `"abc"`, `an array`.
  std::string Found();
  bool Fail(std::string error);
  const std::string& error() const { return error_; }

 private:
  void SkipSpace();
  bool ReadEscape(const char** at, JsonString* string);
  bool SkipItems(char close, int depth);
  bool SkipWord();

  const char* begin_;
  const char* at_;
  const char* end_;
  std::vector<JsonGap>* gaps_;
  std::string error_;
};

}  // namespace weir
