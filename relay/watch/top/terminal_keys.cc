#include "relay/watch/top/terminal_keys.h"

#include <array>
#include <utility>

namespace weir {
namespace {

using Kind = KeyPress::Kind;

// The longest escape sequence that is read; no key has a longer one.
constexpr size_t kLongest = 16;

// The sequences of a key have the forms ESC [ A, ESC O A and ESC [ 5 ~. With a modifier (ESC [ 1 ; 5 A) the key is the
// same.
constexpr std::array<std::pair<char, Kind>, 6> kByLetter = {{{'A', Kind::kUp},
                                                             {'B', Kind::kDown},
                                                             {'C', Kind::kRight},
                                                             {'D', Kind::kLeft},
                                                             {'H', Kind::kHome},
                                                             {'F', Kind::kEnd}}};
constexpr std::array<std::pair<char, Kind>, 6> kByNumber = {{{'1', Kind::kHome},
                                                             {'7', Kind::kHome},
                                                             {'4', Kind::kEnd},
                                                             {'8', Kind::kEnd},
                                                             {'5', Kind::kPageUp},
                                                             {'6', Kind::kPageDown}}};

}  // namespace

void KeyReader::TakeSequence(char last, std::vector<KeyPress>* keys) {
  const bool by_number = last == '~' && sequence_.size() >= 2;
  for (const auto& [code, kind] : by_number ? kByNumber : kByLetter)
    if (code == (by_number ? sequence_[1] : last)) keys->push_back({.kind = kind});
}

std::vector<KeyPress> KeyReader::Take(std::string_view bytes) {
  std::vector<KeyPress> keys;
  for (const char c : bytes) {
    if (c == '\x1b') {
      escaped_ = true;
      sequence_.clear();
    } else if (!escaped_) {
      if (c >= 0) keys.push_back({.character = c});
    } else if (sequence_.empty() && c != '[' && c != 'O') {
      escaped_ = false;  // the user pressed the Escape key, then another key
      if (c >= 0) keys.push_back({.character = c});
    } else if (!sequence_.empty() && c >= '@' && c <= '~') {
      TakeSequence(c, &keys);
      escaped_ = false;
    } else {
      sequence_ += c;
      if (sequence_.size() > kLongest) escaped_ = false;
    }
  }
  return keys;
}

}  // namespace weir
