// KeyReader: the keys that were typed, from the bytes that a terminal sends, cut anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct KeyPress {
  enum class Kind : uint8_t { kCharacter, kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kHome, kEnd };

  Kind kind = Kind::kCharacter;
  char character = 0;  // ASCII; set for kCharacter

  bool operator==(const KeyPress&) const = default;
};

class KeyReader {
 public:
  // Skips bytes that are none of these keys.
  std::vector<KeyPress> Take(std::string_view bytes);

 private:
  void TakeSequence(char last, std::vector<KeyPress>* keys);

  std::string sequence_;  // an escape sequence that is not whole yet, without its ESC
  bool escaped_ = false;
};

}  // namespace weir
