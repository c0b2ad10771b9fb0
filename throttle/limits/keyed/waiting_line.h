// WaitingLine: the requests that wait for one key, in the order in which they came. A request may leave the line at any
// time.
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
    uint64_t number : 63 = 0;  // greater than the numbers of all requests that came before
    bool may_wait : 1 = true;  // false: a hasty request, which waits only until the store of a shared window answers
    TimePoint since{};         // when the request joined the line
    std::shared_ptr<KeyedCaller> caller;  // null: the request has left
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Adds a request at the end. Its number must be greater than those of all earlier requests.
  void Join(Waiting waiting) {
    if (!waiting.may_wait) ++hasty_;
    line_.push_back(std::move(waiting));
    ++size_;
  }

  // Removes and returns the first request. REQUIRES: the line is not empty.
  Waiting Next() {
    while (line_[first_].caller == nullptr) ++first_;
    Waiting next = Remove(&line_[first_++]);
    Tidy();
    return next;
  }

  // Removes the request with that number and returns its caller. Returns null if the request is not in the line.
  std::shared_ptr<KeyedCaller> Leave(uint64_t number) {
    const auto at = std::lower_bound(line_.begin() + static_cast<ptrdiff_t>(first_), line_.end(), number,
                                     [](const Waiting& waiting, uint64_t sought) { return waiting.number < sought; });
    if (at == line_.end() || at->number != number || at->caller == nullptr) return nullptr;
    std::shared_ptr<KeyedCaller> caller = Remove(&*at).caller;
    Tidy();
    return caller;
  }

  // Removes and returns the hasty requests, and all other requests except the first `max_waiting` of them.
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

  // Erases the entries of requests that have left, once these are about half of all entries.
  void Tidy() {
    if (line_.size() < 2 * size_ + 8) return;
    std::erase_if(line_, [](const Waiting& waiting) { return waiting.caller == nullptr; });
    line_.shrink_to_fit();
    first_ = 0;
  }

  std::vector<Waiting> line_;  // the requests; those before first_, and some after it, have left
  size_t first_ = 0;
  size_t size_ = 0;   // the number of requests in the line
  size_t hasty_ = 0;  // how many of them are hasty
};

}  // namespace weir
