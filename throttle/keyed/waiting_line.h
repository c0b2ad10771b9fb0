// WaitingLine: the requests that wait for a key, in the order in which they came. Any may leave from the middle.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "config/clock.h"

namespace weir {

class KeyedCaller;

class WaitingLine {
 public:
  struct Waiting {
    uint64_t number : 63 = 0;  // rises along the line
    bool may_wait : 1 = true;  // false: it is hasty, here until it is known whether there is room
    TimePoint since{};
    std::shared_ptr<KeyedCaller> caller;  // null: it has left
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void Join(Waiting waiting) {
    if (!waiting.may_wait) ++hasty_;
    line_.push_back(std::move(waiting));
    ++size_;
  }

  // Takes out the first of the line, which must not be empty.
  Waiting Next() {
    while (line_[first_].caller == nullptr) ++first_;
    Waiting next = Remove(&line_[first_++]);
    Tidy();
    return next;
  }

  // Takes out a request. Returns null if it does not wait.
  std::shared_ptr<KeyedCaller> Leave(uint64_t number) {
    const auto at = std::lower_bound(line_.begin() + static_cast<ptrdiff_t>(first_), line_.end(), number,
                                     [](const Waiting& waiting, uint64_t sought) { return waiting.number < sought; });
    if (at == line_.end() || at->number != number || at->caller == nullptr) return nullptr;
    std::shared_ptr<KeyedCaller> caller = Remove(&*at).caller;
    Tidy();
    return caller;
  }

  // Takes out the hasty, and of the others those behind the first max_waiting.
  std::vector<Waiting> LetGo(size_t max_waiting) {
    std::vector<Waiting> gone;
    if (hasty_ == 0 && size_ <= max_waiting) return gone;
    size_t stay = 0;
    for (size_t i = first_; i < line_.size(); ++i) {
      if (line_[i].caller == nullptr) continue;
      if (line_[i].may_wait && stay < max_waiting) {
        ++stay;
      } else {
        gone.push_back(Remove(&line_[i]));
      }
    }
    Tidy();
    return gone;
  }

 private:
  Waiting Remove(Waiting* waiting) {
    --size_;
    if (!waiting->may_wait) --hasty_;
    return std::move(*waiting);
  }

  // Removes the places of requests that have gone, when they are about half of what is held.
  void Tidy() {
    if (line_.size() < 2 * size_ + 8) return;
    std::erase_if(line_, [](const Waiting& waiting) { return waiting.caller == nullptr; });
    line_.shrink_to_fit();
    first_ = 0;
  }

  std::vector<Waiting> line_;  // from first_ on
  size_t first_ = 0;
  size_t size_ = 0;
  size_t hasty_ = 0;
};

}  // namespace weir
