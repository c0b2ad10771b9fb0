// LiveFeed: adds a row to the history each second and, while anyone listens, makes the whole state: once, the same
// bytes for all listeners.
//
//   LiveFeed feed({.sample = …, .describe = …}, {.run = …});
//   feed.Start();
//   feed.Join(listener);   // gets the state with its history soon, then an event a second
//   feed.Ask(asker);       // gets the state once
//
// FEED.md describes the contents. One thread makes all of it: the one that Start starts or, without Start, the one that
// calls Tick and Serve.
//
// Any thread may call Join, Ask, Mark and listeners.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "relay/live/live_history.h"
#include "relay/live/live_state.h"

namespace weir {

using SharedText = std::shared_ptr<const std::string>;

// Gets an event each second, on the feed's thread; it must hand the event over and never block. It leaves by being
// destroyed.
class LiveListener {
 public:
  virtual ~LiveListener() = default;
  // A whole event of a text/event-stream.
  virtual void OnEvent(const SharedText& event) = 0;
};

// The state at one moment, for an Asker.
struct LiveMoment {
  const LiveState& state;
  const LiveRow& row;
  const std::deque<LiveMark>& marks;
  std::function<SharedText()> json;  // with the history
};

class LiveFeed {
 public:
  static constexpr size_t kMostListeners = 128;
  static constexpr size_t kMostAskers = 64;
  static constexpr size_t kMostMarks = 64;

  struct Sample {
    LiveRow row;
    std::vector<LiveMark> marks;
  };
  // Called on the feed's thread only.
  struct Source {
    std::function<Sample()> sample;
    std::function<LiveState(LiveRates&)> describe;
  };
  // Identifies this relay and this run of it.
  struct About {
    uint64_t run = 0;  // when it began, in milliseconds since 1970
    std::string name;
    std::string version;
    std::string store;
  };
  LiveFeed(Source source, About about, const Clock& clock = Clock::System());
  ~LiveFeed() { Stop(); }

  void Start();
  // Ends the thread; once this has returned, no listener or asker is called any more. A second call does nothing.
  void Stop();

  // Join and Ask return false if there are kMostListeners listeners or kMostAskers askers already, or after Stop.
  bool Join(const std::shared_ptr<LiveListener>& listener);
  using Asker = std::function<void(const LiveMoment& moment)>;
  bool Ask(Asker asker);
  void Mark(LiveMark mark);
  size_t listeners() const;

  // The thread calls Tick each second, and Serve after that and when a listener or an asker has come.
  void Tick();
  void Serve();

 private:
  void Run();
  const LiveState& State();
  SharedText StateJson();
  std::string Json(bool with_history);
  void TakeMarks(std::vector<LiveMark> marks);
  void ForgetState();

  const Source source_;
  const About about_;
  const Clock& clock_;

  mutable std::mutex mutex_;  // guards the members that other threads touch
  std::condition_variable wake_up_;
  std::vector<std::weak_ptr<LiveListener>> listeners_;
  std::vector<std::weak_ptr<LiveListener>> joining_;  // the listeners that wait for the state
  std::vector<Asker> askers_;
  std::vector<LiveMark> new_marks_;
  bool stopped_ = false;

  // Used by the feed's thread only.
  LiveHistory history_;
  std::deque<LiveMark> marks_;
  LiveRates rates_;
  std::optional<LiveState> state_;  // after the newest tick or change; made when needed
  SharedText json_;                 // state_ with the history

  std::thread thread_;
};

}  // namespace weir
