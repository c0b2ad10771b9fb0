// ReasonCounts: how often each reason was given. The other side can make up any number of reasons, so those beyond
// kMost count together, as "other reasons", and a long one is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "config/text/utf8.h"

namespace weir {

class ReasonCounts {
 public:
  static constexpr size_t kMost = 100;
  static constexpr size_t kMostCharacters = 200;  // in a reason

  void Add(std::string_view reason, uint64_t count = 1) {
    const std::string cut(FirstCharacters(reason, kMostCharacters));
    const bool is_known = counts_.contains(cut) || counts_.size() < kMost;
    counts_[is_known ? cut : "other reasons"] += count;
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
