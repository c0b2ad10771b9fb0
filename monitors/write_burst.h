// WriteBurst: computes how many bytes the throttle may admit at once without a visible step of any level: half a write
// buffer of the column family that receives most of the writes, or less if these bytes would fill half a buffer of
// another family sooner. The latest writes show which share of the bytes each family receives. A family that receives
// none hardly matters, however small its buffer is.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

class WriteBurst {
 public:
  // `buffer_bytes` has, for each column family, the size of one write buffer.
  explicit WriteBurst(const std::vector<double>& buffer_bytes);

  // Adds bytes that the program wrote to the family with this index. Bytes below 0 correct an earlier report.
  void Took(size_t family, double bytes);

  // Returns the share of the latest writes that this family received. Until something was written it is 1 for every
  // family, because each may be the one that receives everything. It approaches the true share as more than 64 KiB are
  // written.
  double ShareOf(size_t family) const;

  // Returns half the buffer of the family that receives most, or less if half the buffer of another family would be
  // full sooner. Returns 0 if there are no families.
  uint64_t Bytes() const;

 private:
  struct Family {
    double buffer_bytes;
    double taken_bytes = 0;
  };
  std::vector<Family> families_;
  double taken_bytes_ = 0;  // the sum over all families
  double memory_bytes_;
};

}  // namespace weir
