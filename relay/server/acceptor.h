// Takes connections from the listening socket and hands them to the I/O threads, the least loaded first. Lives on the
// first I/O thread.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "relay/server/io_thread.h"
#include "relay/server/listener.h"

namespace weir {

class Acceptor {
 public:
  Acceptor(Listener listener, std::vector<std::unique_ptr<IoThread>>& threads);
  ~Acceptor();  // only when the I/O threads have stopped

  uint16_t port() const { return listener_.port(); }

  // Called on the first I/O thread, as is Stop.
  void Start();
  // Takes the connections in the backlog, and those that were on their way into it; then calls `stopped`.
  void Stop(std::function<void()> stopped);
  // Cuts short the wait that Stop began.
  void HurryUp() { timer_.cancel(); }

 private:
  void Wait();
  enum class Taken { kAll, kSome, kFailed };  // failed: for a reason that may pass
  Taken TakeSome();
  void TakeAll();
  void WaitLater();
  void Hand(int socket, const IpAddress& peer);

  Listener listener_;
  std::vector<std::unique_ptr<IoThread>>& threads_;
  ServerCore& core_;
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> descriptor_;
  boost::asio::steady_timer timer_;
  size_t next_ = 0;
  bool stopping_ = false;
};

}  // namespace weir
