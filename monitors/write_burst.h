// How much may be admitted at once without a visible step of any level: the bytes that fill half a write buffer of the
// column families that take the data. A family that takes none sets no bound, however small its buffer is.
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

  // Adds bytes that a family took in, as the program wrote them. Bytes below 0 correct an earlier report.
  void Took(size_t family, double bytes);

  // Returns the share of the latest writes that this family took. It is 1 for every family until something was written,
  // for each may be the one that takes all.
  double ShareOf(size_t family) const;

  // Returns half the buffer of the family that takes most, or less if another family's half would be full sooner.
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
