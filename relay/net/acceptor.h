// Acceptor: accepts connections from the listening socket and passes each to the I/O thread with the fewest sessions.
// Asks Places (places.h) which connections are refused; these are answered 503, or closed if there are too many of
// them. If memory runs out, goes on to accept within a second. Runs on the first I/O thread.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "relay/net/io_thread.h"
#include "relay/net/listener.h"

namespace weir {

class Acceptor {
 public:
  // `threads` must outlive the acceptor and must not be empty.
  Acceptor(Listener listener, std::vector<std::unique_ptr<IoThread>>& threads);
  // REQUIRES: the I/O threads have stopped.
  ~Acceptor();

  uint16_t port() const { return listener_.port(); }

  // Start, Stop and HurryUp must be called on the first I/O thread.

  // Begins to accept connections.
  void Start();
  // Accepts the connections in the kernel's backlog. Then waits 100 ms for clients whose TCP handshakes were under way,
  // and accepts their connections too. Then closes the listening socket and calls `stopped`, once, on the first I/O
  // thread. If memory runs out, does not wait. Does not throw.
  void Stop(std::function<void()> stopped);
  // Cuts short the 100 ms for which Stop waits.
  void HurryUp() { timer_.cancel(); }

 private:
  void Wait();
  enum class Taken { kAll, kSome, kFailed };  // kFailed: accept() failed; it may succeed later
  Taken TakeSome();
  void TakeAll();
  void Close();
  void WaitLater();
  void Hand(int socket, const IpAddress& peer);

  Listener listener_;
  std::vector<std::unique_ptr<IoThread>>& threads_;
  ServerCore& core_;
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> descriptor_;
  boost::asio::steady_timer timer_;
  size_t next_ = 0;
  bool stopping_ = false;
  std::function<void()> stopped_;  // see Stop; called by Close
  bool must_wait_ = false;         // true in the handlers of Wait and WaitLater, until they wait again
};

}  // namespace weir
