#include "monitors/write_burst.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir {
namespace {

// Remembers this many write buffers' worth of writes, over all column families.
constexpr double kBuffersRemembered = 16;

// The shares count as unknown until this many bytes were written.
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
  taken_bytes_ = 0;
  for (const Family& each : families_) taken_bytes_ += each.taken_bytes;
}

double WriteBurst::ShareOf(size_t family) const {
  return (families_[family].taken_bytes + kUnknownBytes) / (taken_bytes_ + kUnknownBytes);
}

uint64_t WriteBurst::Bytes() const {
  if (families_.empty()) return 0;
  const auto taken = [](const Family& a, const Family& b) { return a.taken_bytes < b.taken_bytes; };
  double burst = std::max_element(families_.begin(), families_.end(), taken)->buffer_bytes / 2;
  for (size_t i = 0; i < families_.size(); ++i) burst = std::min(burst, families_[i].buffer_bytes / 2 / ShareOf(i));
  return static_cast<uint64_t>(burst);
}

}  // namespace weir
