// JsonScanner: reads JSON from left to right in one pass and builds no tree. Checks the grammar, and tells the caller
// where each string and value is in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// A string of the text. Its escapes are valid; none is \u0000 or half of a surrogate pair.
struct JsonString {
  std::string_view raw;   // the bytes between the quotes; points into the text
  bool escaped = false;   // true if `raw` has a backslash
  bool canonical = true;  // true if `raw` is in canonical form with ControlForm::kEscaped (relay/nostr/canonical.h)
  bool controls = false;  // true if `raw` has an escaped control character that has no short escape

  // Returns the string with its quotes.
  std::string_view quoted() const { return {raw.data() - 1, raw.size() + 2}; }
};

// White space in the text, or another piece that the minimal form (relay/nostr/event_parser.h) omits: from `begin` to
// the byte before `end`.
struct JsonGap {
  const char* begin;
  const char* end;
};

// Returns `text` in a form that fits into an error message: about its first 70 bytes, with "…" behind them if it is
// longer, and with control characters written as escapes such as \x0a.
std::string Shown(std::string_view text);

// A scanner has a position in its text, which the functions below move forward. A function that returns bool returns
// false if it fails; then error() says why, except after Take, AtEnd and ReadWhole, which set no error. A later success
// does not clear the error.
class JsonScanner {
 public:
  // The result of NextItem: another item, the closing bracket, or an error.
  enum class Step : uint8_t { kItem, kEnd, kError };
  static constexpr int kMaxDepth = 32;  // the most arrays and objects around a value that SkipValue accepts

  // `text` must be valid UTF-8 (simdjson::validate_utf8) and needs no padding behind its end. If `gaps` is not null,
  // the scanner appends to it each run of white space between tokens. `text` and `gaps` must outlive the scanner.
  explicit JsonScanner(std::string_view text, std::vector<JsonGap>* gaps = nullptr)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), gaps_(gaps) {}

  // Moves past white space and returns the next character, but does not move past that character. Returns NUL at the
  // end of the text.
  char Peek() {
    if (at_ != end_ && static_cast<unsigned char>(*at_) > ' ') return *at_;
    SkipSpace();
    return at_ == end_ ? '\0' : *at_;
  }
  // Moves past white space. If the next character is `c`, moves past it and returns true; otherwise returns false.
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  // Does the same as Take, but on failure also sets an error that says which token was found instead.
  bool Expect(char c);
  // Returns true if only white space is left.
  bool AtEnd() {
    Peek();
    return at_ == end_;
  }
  const char* at() const { return at_; }
  // Moves back to a position that at() returned earlier. Gaps that were appended since then are not removed.
  void BackTo(const char* at) { at_ = at; }

  // Moves to the next item of the array or object that the scanner is in (kItem), or past its closing bracket `close`
  // (kEnd). The caller sets `*first` to true before the first item; NextItem sets it to false.
  Step NextItem(char close, bool* first);
  // Reads the next token, which must be a string. The error has no subject; the caller puts one before it. Example:
  // "has a control character that is not escaped".
  bool ReadString(JsonString* string);
  // Reads a field's name and the colon behind it.
  bool ReadName(JsonString* name);
  // Reads a whole number without sign, point, exponent or leading zeros. A number beyond 2^64-1 is read as 2^64-1. If
  // the function returns false, the scanner has moved past no more than white space.
  bool ReadWhole(uint64_t* number);
  // Moves past the next value, of whatever type, and checks its grammar. Callers outside this class leave out `depth`,
  // which is the number of arrays and objects around the value.
  bool SkipValue(int depth = 0);
  // Moves past the next value as SkipValue does, and sets `*value` to its text.
  bool ReadValue(std::string_view* value);
  // Reads the next value, which must be a list, and sets `*items` to the texts of its items.
  bool ReadList(std::vector<std::string_view>* items);

  // Returns a short description of the next token for an error message, such as `1.5`, `"abc"` or `an array`. Moves
  // past no more than white space.
  std::string Found();
  // Sets the error and returns false.
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
