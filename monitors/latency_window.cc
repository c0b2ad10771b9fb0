#include "monitors/latency_window.h"

#include <algorithm>
#include <bit>

namespace weir {
namespace {

// Returns the nearest rank: the smallest latency that at least `percent` % of the window do not exceed.
int64_t Quantile(std::vector<int64_t>& values, size_t percent) {
  const size_t rank = (values.size() * percent + 99) / 100;
  const auto nth = values.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

}  // namespace

LatencyWindow::LatencyWindow(size_t size) : mask_(std::bit_ceil(std::max<size_t>(size, 1)) - 1), slots_(mask_ + 1) {
  for (auto& slot : slots_) slot.store(kEmpty, std::memory_order_relaxed);
}

LatencyWindow::Figures LatencyWindow::Summary() const {
  std::vector<int64_t> values;
  values.reserve(slots_.size());
  double sum = 0;
  for (const auto& slot : slots_) {
    const int64_t ns = slot.load(std::memory_order_relaxed);
    if (ns == kEmpty) continue;
    values.push_back(ns);
    sum += static_cast<double>(ns);
  }
  if (values.empty()) return {};
  return {.count = values.size(),
          .mean = Duration(static_cast<int64_t>(sum / static_cast<double>(values.size()))),
          .p50 = Duration(Quantile(values, 50)),
          .p99 = Duration(Quantile(values, 99))};
}

Duration LatencyWindow::Mean() const {
  double sum = 0;
  size_t count = 0;
  for (const auto& slot : slots_) {
    const int64_t ns = slot.load(std::memory_order_relaxed);
    if (ns == kEmpty) continue;
    sum += static_cast<double>(ns);
    ++count;
  }
  return count == 0 ? Duration::zero() : Duration(static_cast<int64_t>(sum / static_cast<double>(count)));
}

}  // namespace weir
