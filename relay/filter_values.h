// FilterValues: the values in the filters of everybody's requests, which is what these cost in memory: about 150 bytes
// each, from when a request is taken until it is gone, whether it waits, runs or is live.
//
// One group of parties (an address) has at most a quarter of what all have, so nobody can take it all. Small requests
// are served up to twice as far: whoever asks for little should notice those last who ask for much.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace weir {

class FilterValues {
 public:
  static constexpr uint64_t kGroups = 4;  // that fill everything
  static constexpr uint64_t kFew = 50;    // of a small request

  // Of `most` in all. False: nothing was taken.
  bool Take(uint64_t group, uint64_t values, uint64_t most) {
    const uint64_t part = values > kFew ? 1 : 2;
    const std::lock_guard lock(mutex_);
    const auto own = of_group_.find(group);
    const uint64_t had = own == of_group_.end() ? 0 : own->second;
    if ((total_ + values) / part > most || (had + values) / part > most / kGroups) return false;
    total_ += values;
    of_group_[group] = had + values;
    return true;
  }
  void GiveBack(uint64_t group, uint64_t values) {
    const std::lock_guard lock(mutex_);
    total_ -= values;
    const auto own = of_group_.find(group);
    if ((own->second -= values) == 0) of_group_.erase(own);
  }
  uint64_t total() const {
    const std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t total_ = 0;
  std::unordered_map<uint64_t, uint64_t> of_group_;
};

}  // namespace weir
