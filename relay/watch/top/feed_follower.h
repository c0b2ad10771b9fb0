// FeedFollower: receives the events of a relay (GET /live/events) on a thread of its own, and connects again whenever
// the connection ends.
//
//   FeedFollower follower({.find = …, .on_change = …});
//   if (Status status = follower.Begin(); !status.ok()) …   // the relay was not reached, or refused the token
//   follower.Start();
//   const Watched watched = follower.Now();
//
// A FeedFollower stores only the newest state and at most ten minutes of history, whatever the server sends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "config/wire/http/http_connection.h"
#include "relay/running/attachment.h"
#include "relay/watch/top/watched.h"

namespace weir {

class FeedFollower {
 public:
  struct Times {
    // The follower ends a connection on which no event came for this time. Also the timeout of a request, and the time
    // between two requests for the state if no events come (Watched::Link::kPolled).
    std::chrono::milliseconds silence{5000};
    std::chrono::milliseconds again{1000};  // time from the end of a connection to the next attempt to connect
  };
  struct Parts {
    // Finds the relay. Begin and the follower's thread call it before each attempt to connect.
    std::function<Result<Attachment>()> find;
    // Begin and the follower's thread call this function after each change of the result of Now. It may be empty, and
    // must not call Stop.
    std::function<void()> on_change;
    Times times;
    const Clock& clock = Clock::System();
  };
  explicit FeedFollower(Parts parts) : parts_(std::move(parts)) {}
  ~FeedFollower() { Stop(); }
  FeedFollower(const FeedFollower&) = delete;
  FeedFollower& operator=(const FeedFollower&) = delete;

  // Requests the state once (GET /live/state) and waits for the answer. Returns an error if the relay was not found,
  // was not reached, refused the token, or did not answer with a state. Call it before Start.
  Status Begin();
  // Starts the follower's thread.
  void Start();
  // Ends the follower's thread and waits for its end. Does nothing if the thread was not started.
  void Stop();

  // Returns a copy of the newest state, the history and the condition of the connection. May be called from any thread.
  // Before Begin and Start, Watched::link is kLive and all other members are empty.
  Watched Now() const;

 private:
  void Run(const std::stop_token& stop);
  Status AskOnce(Watched::Link link, const std::string& problem, const std::stop_token& stop);
  // Receives events until the connection ends, and returns why it ended. Sets *heard to true if at least two events
  // came. A relay sends one each second; if only one came, a proxy may be holding the events back.
  std::string Follow(const std::stop_token& stop, bool* heard);
  // Returns what is wrong with the answer, for messages; empty if nothing is wrong. Sets refused_.
  std::string ProblemOf(const HttpAnswer& answer, const Attachment& attachment, std::string_view content_type);
  HttpCall CallFor(const Attachment& attachment, const char* path, const std::stop_token& stop) const;
  Status Take(const std::string& json, const Attachment& attachment, Watched::Link link, const std::string& problem);
  void Lose(const std::string& problem);
  void Wait(std::chrono::milliseconds time, const std::stop_token& stop);

  const Parts parts_;
  mutable Mutex mutex_;
  std::condition_variable_any stopped_;
  Watched watched_ WEIR_GUARDED_BY(mutex_);
  bool refused_ = false;  // the relay refused the newest call; used only by the thread that makes the calls
  std::jthread thread_;
};

}  // namespace weir
