// Sweep: forgets names that are over, a part of the table each time.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "config/clock.h"
#include "config/text/name_hash.h"

namespace weir {

class Sweep {
 public:
  // The time between two sweeps. About ten sweeps look at every name; each leaves the shard soon.
  static constexpr Duration kEvery = std::chrono::milliseconds(100);

  // Forgets the names of a part of the table for which is_over(the name with its value). Returns how many went.
  // `names` is an unordered_map<std::string, …, HashName, SameName>.
  template <typename Names, typename IsOver>
  size_t Some(Names* names, IsOver is_over) {
    return Buckets(std::min(kMostBuckets, names->bucket_count() / 10 + 1), names, is_over);
  }
  // Looks at a few buckets, before a name is added: names go as fast as they come.
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
      // A bucket that is swept again after a removal has one name fewer.
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
