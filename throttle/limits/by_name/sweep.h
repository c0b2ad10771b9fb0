// Sweep: removes unneeded names from a hash table, a few buckets at a time, so that no call takes long.
//
// Threads: only one at a time may use a Sweep.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "config/clock.h"
#include "config/text/name_hash.h"

namespace weir {

class Sweep {
 public:
  // The usual time between two calls of Some. Ten calls examine a whole table of up to 10 * kMostBuckets buckets.
  static constexpr Duration kEvery = std::chrono::milliseconds(100);

  // Examines a tenth of the table's buckets, but at most kMostBuckets, and removes the names for which is_over(entry of
  // the map) returns true. Returns how many names it removed. May call is_over several times for a name that stays.
  // `names` is an unordered_map<std::string, …, HashName, SameName>; Some may shrink its table.
  template <typename Names, typename IsOver>
  size_t Some(Names* names, IsOver is_over) {
    return Buckets(std::min(kMostBuckets, names->bucket_count() / 10 + 1), names, is_over);
  }
  // Does the same for only kBucketsInPassing buckets. A caller that calls InPassing before it adds a name removes
  // unneeded names as fast as it adds new ones.
  template <typename Names, typename IsOver>
  size_t InPassing(Names* names, IsOver is_over) {
    return Buckets(kBucketsInPassing, names, is_over);
  }

 private:
  static constexpr size_t kMostBuckets = 4096;
  static constexpr size_t kBucketsInPassing = 4;
  static constexpr size_t kLeastBuckets = 64;

  template <typename Names, typename IsOver>
  size_t Buckets(size_t count, Names* names, IsOver& is_over) {
    const size_t before = names->size();
    for (size_t i = 0; i < count && !names->empty(); ++i) {
      next_bucket_ = (next_bucket_ + 1) % names->bucket_count();
      // A removal invalidates `at`, so the loop examines the rest of the bucket again from its beginning.
      for (auto at = names->begin(next_bucket_); at != names->end(next_bucket_);) {
        if (!is_over(*at)) {
          ++at;
          continue;
        }
        names->erase(names->find(HashedName(at->first)));
        at = names->begin(next_bucket_);
      }
    }
    const size_t gone = before - names->size();
    if (names->bucket_count() > kLeastBuckets && names->size() * 8 < names->bucket_count()) names->rehash(0);
    return gone;
  }

  size_t next_bucket_ = 0;
};

}  // namespace weir
