// How much may be admitted at once without a visible step of any level: what fills half a write buffer, of the column
// families that take the data. One that takes none sets nothing, however small its buffer is.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

class WriteBurst {
 public:
  explicit WriteBurst(const std::vector<double>& buffer_bytes);  // by family

  // What a family took in, as the program wrote it. Below 0 where it is only found out that it was less.
  void Took(size_t family, double bytes);

  // Of all that was written lately, what this family took. Until something was written each may be the one that takes
  // all.
  double ShareOf(size_t family) const;

  // Half the buffer of the family that takes most, or less, where another one's would be filled sooner.
  uint64_t Bytes() const;

 private:
  struct Family {
    double buffer_bytes;
    double taken_bytes = 0;
  };
  std::vector<Family> families_;
  double memory_bytes_;
};

}  // namespace weir
