// HeavyTakers: finds the clients that cause the most work, among any number of clients, with a table of fixed size.
//
// If the table is full, a new client replaces the client with the least work, and its own work starts at that client's
// work (the algorithm "space-saving"). So every client that causes more than 1/kPlaces of all work is in the table, and
// a client's work is overstated by at most the work of the client that it replaced.
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
  static constexpr size_t kPlaces = 32;  // the size of the table

  struct Taker {
    uint64_t key = 0;    // the client
    uint64_t group = 0;  // the group that the client belongs to, as passed to Add
    double work = 0;
  };

  // Adds `work` to the work of the client `key`. `group` is used only if the client is not in the table yet.
  void Add(uint64_t key, uint64_t group, Work work);
  // Multiplies the work of each client by `share`, from 0 to 1, so that old work counts less than new. Removes clients
  // whose work is then less than 1.
  void Fade(double share);
  // Returns the clients in the table in descending order of work.
  std::vector<Taker> Heaviest() const;

 private:
  std::array<Taker, kPlaces> takers_{};
};

}  // namespace weir
