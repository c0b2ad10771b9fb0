// SearchScore: how well a text matches a search. It follows BM25: a word counts more if few events have it, and if it
// comes often in a short text; further repetitions count less and less. All numbers are whole, so that a search gives
// the same order on every machine.
//
// The density of a word in a text is one byte in the index: how often the word comes (up to 15) and the length of the
// text, as a power of two. So a search ranks events without reading them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weir {

// The number of events with a word is counted up to this one.
inline constexpr uint32_t kMostCountedEvents = 256;

// Returns the density of a word that comes `times` times in a text of `length` words.
constexpr uint8_t DensityOf(uint32_t times, uint32_t length) {
  const uint32_t size = std::min<uint32_t>(static_cast<uint32_t>(std::bit_width(length)), 15);
  return static_cast<uint8_t>(std::min<uint32_t>(times, 15) << 4 | size);
}

// Returns the weight of a word that `counted` events have: from 1, for kMostCountedEvents or more of them, to 9.
constexpr uint32_t WeightOf(uint32_t counted) {
  return static_cast<uint32_t>(
      std::bit_width(kMostCountedEvents / std::clamp<uint32_t>(counted, 1, kMostCountedEvents)));
}

// Returns a thousand times BM25's factor of a word with this density, with k1 = 1.2, b = 0.75 and a mean length of 32
// words: tf * 2.2 / (tf + 0.3 + 0.9 * length / 32).
constexpr uint32_t FactorOf(uint8_t density) {
  const uint32_t times = density >> 4;
  const uint32_t length = (uint32_t{1} << (density & 15)) / 2;
  return times * 2'200'000 / (times * 1000 + 300 + 900 * length / 32);
}

}  // namespace weir
