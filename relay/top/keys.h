// KeyReader: what somebody typed, from the bytes that a terminal sends, cut anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct KeyPress {
  enum class Kind : uint8_t { kCharacter, kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kHome, kEnd };

  Kind kind = Kind::kCharacter;
  char character = 0;  // of ASCII; kCharacter

  bool operator==(const KeyPress&) const = default;
};

class KeyReader {
 public:
  // What is no key of these is passed over.
  std::vector<KeyPress> Take(std::string_view bytes);

 private:
  void TakeSequence(char last, std::vector<KeyPress>* keys);

  std::string sequence_;  // an escape sequence that is not whole yet, without its ESC
  bool escaped_ = false;
};

}  // namespace weir
