// KeyReader: turns the bytes that a terminal sends into the keys that the user has pressed. The bytes may come in
// pieces of any size.
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
  // Returns the keys that these bytes complete. Skips keys that KeyPress does not have, such as Escape.
  std::vector<KeyPress> Take(std::string_view bytes);

 private:
  void TakeSequence(char last, std::vector<KeyPress>* keys);

  std::string sequence_;  // the escape sequence that has begun, without its ESC
  bool escaped_ = false;  // an escape sequence has begun
};

}  // namespace weir
