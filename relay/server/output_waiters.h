// Who waits for the output of a session to shrink.
#pragma once

#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "relay/server/io_thread.h"
#include "relay/server/session.h"

namespace weir {

// Of a stage, on its I/O thread.
class OutputWaiters {
 public:
  explicit OutputWaiters(Session& session) : session_(session) {}

  // Calls once, on a later turn, when no more than `most` is pending; not after the session's end.
  void Add(size_t pending, size_t most, std::function<void()> callback) {
    if (session_.ended()) return;
    if (pending <= most) return Post(std::move(callback));
    waiters_.push_back({most, std::move(callback)});
  }
  void OnSent(size_t pending) {
    std::erase_if(waiters_, [&](Waiter& waiter) {
      if (pending > waiter.most) return false;
      Post(std::move(waiter.callback));
      return true;
    });
  }
  void Clear() { waiters_.clear(); }

 private:
  struct Waiter {
    size_t most;
    std::function<void()> callback;
  };

  void Post(std::function<void()> callback) {
    boost::asio::post(session_.thread().context(),
                      [session = session_.shared_from_this(), callback = std::move(callback)] {
                        if (!session->ended()) session->Guard(callback);
                      });
  }

  Session& session_;
  std::vector<Waiter> waiters_;
};

}  // namespace weir
