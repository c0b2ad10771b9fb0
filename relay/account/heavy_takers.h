// HeavyTakers: of any number of strangers those who take most, in a table of fixed size.
//
// Where it is full, who comes takes the place of the least, and begins with what that one had (space-saving): so
// whoever takes more than one part in kPlaces of all is in it, and what is said of a taker is too much by at most the
// least one's.
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
    uint64_t group = 0;  // that it belongs to, for who names it
    double work = 0;
  };

  void Add(uint64_t key, uint64_t group, Work work);
  // All is forgotten but this share of it.
  void Fade(double share);
  // Those with the most first.
  std::vector<Taker> Heaviest() const;

 private:
  std::array<Taker, kPlaces> takers_{};
};

}  // namespace weir
