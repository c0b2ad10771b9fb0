// Callbacks that wait for output to shrink: that of a connection, or of one of its exchanges.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace weir {

// Used on the I/O thread.
class OutputWaiters {
 public:
  // `post` calls a function on a later turn, if the connection or exchange is still there then.
  using Post = std::function<void(std::function<void()>)>;
  explicit OutputWaiters(Post post) : post_(std::move(post)) {}

  // Calls `callback` once, on a later turn, when no more than `most` is pending.
  void Add(size_t pending, size_t most, std::function<void()> callback) {
    if (pending <= most) return post_(std::move(callback));
    waiters_.push_back({most, std::move(callback)});
  }
  void OnSent(size_t pending) {
    std::erase_if(waiters_, [&](Waiter& waiter) {
      if (pending > waiter.most) return false;
      post_(std::move(waiter.callback));
      return true;
    });
  }
  void Clear() { waiters_.clear(); }

 private:
  struct Waiter {
    size_t most;
    std::function<void()> callback;
  };

  const Post post_;
  std::vector<Waiter> waiters_;
};

}  // namespace weir
