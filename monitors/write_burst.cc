#include "monitors/write_burst.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir {
namespace {

// So much is looked back to, in buffers of all families.
constexpr double kBuffersRemembered = 16;

// Before that much was written the shares are not known.
constexpr double kUnknownBytes = 64 << 10;

}  // namespace

WriteBurst::WriteBurst(const std::vector<double>& buffer_bytes) : memory_bytes_(0) {
  for (const double bytes : buffer_bytes) {
    families_.push_back({bytes});
    memory_bytes_ += kBuffersRemembered * bytes;
  }
}

void WriteBurst::Took(size_t family, double bytes) {
  if (!std::isfinite(bytes)) return;
  const double keep = std::exp(-std::max(0.0, bytes) / memory_bytes_);
  for (Family& f : families_) f.taken_bytes *= keep;
  Family& f = families_[family];
  f.taken_bytes = std::max(0.0, f.taken_bytes + bytes);
}

uint64_t WriteBurst::Bytes() const {
  double total = kUnknownBytes;
  const Family* first = nullptr;
  for (const Family& f : families_) {
    total += f.taken_bytes;
    if (first == nullptr || f.taken_bytes > first->taken_bytes) first = &f;
  }
  if (first == nullptr) return 0;
  double burst = first->buffer_bytes / 2;
  for (const Family& f : families_)
    burst = std::min(burst, f.buffer_bytes / 2 / ((f.taken_bytes + kUnknownBytes) / total));
  return static_cast<uint64_t>(burst);
}

}  // namespace weir
