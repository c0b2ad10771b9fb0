// Makes random events and writes them as an unusual client might: with any order, any white space and any escapes that
// JSON allows.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "tests/relay/nostr/reference_event.h"

namespace weir {

class RandomEvents {
 public:
  explicit RandomEvents(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  std::string Hex(size_t digits);
  std::string Text(size_t most_characters);
  // Returns an event with its right id and a random signature.
  ReferenceEvent Event();
  // Writes the event as JSON. If `oddity` is 0, in the form that is hashed; from 1 to 3, in more and more unusual
  // forms.
  std::string Write(const ReferenceEvent& event, unsigned oddity);
  std::string Mutated(std::string text);

 private:
  std::string WriteString(std::string_view text, unsigned oddity);
  std::string WriteCharacter(std::string_view character, unsigned oddity);
  std::string Space(unsigned oddity);
  std::string UnknownValue(unsigned depth);

  std::mt19937_64 random_;
};

}  // namespace weir
