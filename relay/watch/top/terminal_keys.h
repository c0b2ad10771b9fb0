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
  // Returns the keys that are complete with these bytes. Skips keys that KeyPress cannot represent, such as Escape.
  std::vector<KeyPress> Take(std::string_view bytes);

 private:
  void TakeSequence(char last, std::vector<KeyPress>* keys);

  std::string sequence_;  // the bytes of an unfinished escape sequence, without its ESC
  bool escaped_ = false;  // true within an escape sequence
};

}  // namespace weir
