// FeedFollower: follows the events of a relay (GET /live/events) on a thread of its own, and connects again whenever
// the connection ends.
//
//   FeedFollower follower({.find = …, .on_change = …});
//   if (Status status = follower.Begin(); !status.ok()) …   // the relay was not reached, or refused the token
//   follower.Start();
//   const Watched watched = follower.Now();
//
// It keeps the newest state and at most ten minutes of history, whatever a server sends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "config/clock.h"
#include "config/http/http_connection.h"
#include "config/status.h"
#include "relay/top/attachment.h"
#include "relay/top/watched.h"

namespace weir {

class FeedFollower {
 public:
  struct Times {
    // The longest time without an event before the connection counts as ended; also the time between two polls.
    std::chrono::milliseconds silence{5000};
    std::chrono::milliseconds again{1000};  // time from the end of a connection to the next attempt
  };
  struct Parts {
    // Finds the relay. Called before each attempt, by Begin and on the follower's thread.
    std::function<Result<Attachment>()> find;
    // Called after each change of what Now returns: by Begin, before it returns, and on the follower's thread. May be
    // empty. Must not call Stop.
    std::function<void()> on_change;
    Times times;
    const Clock& clock = Clock::System();
  };
  explicit FeedFollower(Parts parts) : parts_(std::move(parts)) {}
  ~FeedFollower() { Stop(); }
  FeedFollower(const FeedFollower&) = delete;
  FeedFollower& operator=(const FeedFollower&) = delete;

  // Asks for the state once (GET /live/state) and waits for the answer. Returns an error if no state came: the relay
  // was not found or not reached, or it refused the token. Call it before Start.
  Status Begin();
  // Starts the follower's thread.
  void Start();
  // Ends the follower's thread and waits for that. Does nothing if there is none.
  void Stop();

  // Returns a copy of what is known about the relay. May be called from any thread. Before the first state, the link is
  // kLive and all else is empty.
  Watched Now() const;

 private:
  void Run(const std::stop_token& stop);
  Status AskOnce(Watched::Link link, const std::string& problem, const std::stop_token& stop);
  // Follows the events until the connection ends, and returns why it has ended. Sets *heard if more than one event
  // came. If only one came, something between the relay and this program holds events back, because a relay sends one
  // each second.
  std::string Follow(const std::stop_token& stop, bool* heard);
  // Returns what is wrong with the answer, in words without a full stop; empty if nothing is.
  std::string ProblemOf(const HttpAnswer& answer, const Attachment& attachment, std::string_view content_type);
  HttpCall CallFor(const Attachment& attachment, const char* path, const std::stop_token& stop) const;
  Status Take(const std::string& json, const Attachment& attachment, Watched::Link link, const std::string& problem);
  void Lose(const std::string& problem);
  void Wait(std::chrono::milliseconds time, const std::stop_token& stop);

  const Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  Watched watched_;
  bool refused_ = false;  // the relay refused the newest call; used only by the thread that makes the calls
  std::jthread thread_;
};

}  // namespace weir
