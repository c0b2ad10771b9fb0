// WaitingLine: the requests that wait for one key, in the order in which they came. A request may also leave from the
// middle of the line.
//
// Threads: only one at a time may use a WaitingLine.
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
    uint64_t number : 63 = 0;  // greater than those of the requests before it
    bool may_wait : 1 = true;  // false: the request is hasty, and stands in line only until the store answers
    TimePoint since{};         // when it joined
    std::shared_ptr<KeyedCaller> caller;  // null: it has left
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Adds a request at the end. Its number must be greater than those of all earlier requests.
  void Join(Waiting waiting) {
    if (!waiting.may_wait) ++hasty_;
    line_.push_back(std::move(waiting));
    ++size_;
  }

  // Takes out the first request. The line must not be empty.
  Waiting Next() {
    while (line_[first_].caller == nullptr) ++first_;
    Waiting next = Remove(&line_[first_++]);
    Tidy();
    return next;
  }

  // Takes out the request with that number and returns its caller; returns null if it is not in line.
  std::shared_ptr<KeyedCaller> Leave(uint64_t number) {
    const auto at = std::lower_bound(line_.begin() + static_cast<ptrdiff_t>(first_), line_.end(), number,
                                     [](const Waiting& waiting, uint64_t sought) { return waiting.number < sought; });
    if (at == line_.end() || at->number != number || at->caller == nullptr) return nullptr;
    std::shared_ptr<KeyedCaller> caller = Remove(&*at).caller;
    Tidy();
    return caller;
  }

  // Takes out, and returns, all hasty requests and all others behind the first `max_waiting`.
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

  // Drops the places of requests that have left, once these are about half of all places.
  void Tidy() {
    if (line_.size() < 2 * size_ + 8) return;
    std::erase_if(line_, [](const Waiting& waiting) { return waiting.caller == nullptr; });
    line_.shrink_to_fit();
    first_ = 0;
  }

  std::vector<Waiting> line_;  // places; those before first_ are empty
  size_t first_ = 0;
  size_t size_ = 0;   // requests in line
  size_t hasty_ = 0;  // how many of these are hasty
};

}  // namespace weir
