// FeedFollower: follows /live/events of a relay on a thread of its own, and connects again whenever that ends.
//
//   FeedFollower follower({.find = …, .on_change = …});
//   if (Status status = follower.Begin(); !status.ok()) …   // not reached, or refused
//   follower.Start();
//   const Watched watched = follower.Now();
//
// It keeps the newest state and ten minutes of history, whatever a server sends.
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
    std::chrono::milliseconds silence{5000};  // time without an event after which the connection has ended
    std::chrono::milliseconds again{1000};    // time from the end of a connection to the next attempt
  };
  struct Parts {
    std::function<Result<Attachment>()> find;
    std::function<void()> on_change;  // called on the follower's thread
    Times times;
    const Clock& clock = Clock::System();
  };
  explicit FeedFollower(Parts parts) : parts_(std::move(parts)) {}
  ~FeedFollower() { Stop(); }
  FeedFollower(const FeedFollower&) = delete;
  FeedFollower& operator=(const FeedFollower&) = delete;

  // Asks for the state once, and waits for it.
  Status Begin();
  void Start();
  void Stop();

  Watched Now() const;

 private:
  void Run(const std::stop_token& stop);
  Status AskOnce(Watched::Link link, const std::string& problem, const std::stop_token& stop);
  // Returns why it ended. Sets *heard if more than one event came: a single one means that something holds the stream
  // back, for a relay sends one a second.
  std::string Follow(const std::stop_token& stop, bool* heard);
  // Returns a part of a sentence; empty if the answer is what was asked for.
  std::string ProblemOf(const HttpAnswer& answer, const Attachment& attachment, std::string_view content_type);
  HttpCall CallFor(const Attachment& attachment, const char* path, const std::stop_token& stop) const;
  Status Take(const std::string& json, const Attachment& attachment, Watched::Link link, const std::string& problem);
  void Lose(const std::string& problem);
  void Wait(std::chrono::milliseconds time, const std::stop_token& stop);

  const Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  Watched watched_;
  bool refused_ = false;  // the newest call was refused; used by the thread that makes the calls
  std::jthread thread_;
};

}  // namespace weir
