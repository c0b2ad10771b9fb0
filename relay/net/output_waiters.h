// OutputWaiters: keeps callbacks until no more than a certain amount of output is pending, for a connection
// (Connection::WhenPendingBelow) or for one HTTP exchange (HttpExchange::WhenPendingBelow).
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace weir {

// All functions must be called on the connection's I/O thread.
class OutputWaiters {
 public:
  // Posts a function, which is called after Post has returned, unless the connection or exchange has ended by then.
  using Post = std::function<void(std::function<void()>)>;
  explicit OutputWaiters(Post post) : post_(std::move(post)) {}

  // Posts `callback` at once if `pending`, the bytes of waiting output, is at most `most`; else a later OnSent posts
  // it.
  void Add(size_t pending, size_t most, std::function<void()> callback) {
    if (pending <= most) return post_(std::move(callback));
    waiters_.push_back({most, std::move(callback)});
  }
  // Posts the callbacks whose `most` is at least `pending`. Called when output was sent.
  void OnSent(size_t pending) {
    std::erase_if(waiters_, [&](Waiter& waiter) {
      if (pending > waiter.most) return false;
      post_(std::move(waiter.callback));
      return true;
    });
  }
  // Drops all callbacks without calling them.
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
