// ReasonCounts: how often each reason was given. The other side can make up any number of reasons, so those beyond
// kMost count together, as "other reasons".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace weir {

class ReasonCounts {
 public:
  static constexpr size_t kMost = 100;

  void Add(const std::string& reason, uint64_t count = 1) {
    const bool is_known = counts_.contains(reason) || counts_.size() < kMost;
    counts_[is_known ? reason : "other reasons"] += count;
    sum_ += count;
  }
  void Add(const ReasonCounts& more) {
    for (const auto& [reason, count] : more.counts_) Add(reason, count);
  }

  const std::map<std::string, uint64_t>& counts() const { return counts_; }
  uint64_t sum() const { return sum_; }

 private:
  std::map<std::string, uint64_t> counts_;
  uint64_t sum_ = 0;
};

}  // namespace weir
