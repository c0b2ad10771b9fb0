// Makes lines of an input, for tests.
#pragma once

#include <string>

#include "relay/nostr/signature.h"

namespace weir {

inline constexpr uint64_t kLineTime = 1'700'000'000;

// Returns a signed note as JSON, without line feed.
inline std::string NoteLine(uint64_t number, uint16_t kind = 1, const std::string& tags = "[]",
                            uint64_t created_at = kLineTime) {
  static const Signer kSigner(7);
  return kSigner.SignedEvent(created_at, kind, tags, "note " + std::to_string(number));
}

// Returns the lines of several notes.
inline std::string Notes(uint64_t first, uint64_t last) {
  std::string text;
  for (uint64_t i = first; i < last; ++i) text += NoteLine(i) + "\n";
  return text;
}

}  // namespace weir
