// HeavyTakers finds those that take most among any number of clients, in a table of fixed size.
//
// When the table is full, a newcomer takes the place of the smallest taker and begins with its work (space-saving). So
// every client that takes more than one part in kPlaces of all work is in the table, and the work of a taker is
// overstated by at most that of the smallest one.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "relay/account/work.h"

namespace weir {

class HeavyTakers {
 public:
  static constexpr size_t kPlaces = 32;

  struct Taker {
    uint64_t key = 0;
    uint64_t group = 0;  // the group it belongs to, so that callers can name it
    double work = 0;
  };

  void Add(uint64_t key, uint64_t group, Work work);
  // Keeps this share of each taker's work and forgets the rest.
  void Fade(double share);
  // Returns the takers, the one with most work first.
  std::vector<Taker> Heaviest() const;

 private:
  std::array<Taker, kPlaces> takers_{};
};

}  // namespace weir
