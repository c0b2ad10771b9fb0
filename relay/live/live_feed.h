// LiveFeed: once a second a row for the history, and, while somebody looks, the whole state: made once, for all of them
// the same bytes.
//
//   LiveFeed feed({.sample = …, .describe = …}, {.run = …});
//   feed.Start();
//   feed.Join(listener);   // gets the state with its history soon, then an event a second
//   feed.Ask(asker);       // the state, for who asks once
//
// What is told is described in FEED.md. All of it is made by one thread: that of Start, or, without it, by whoever
// calls Tick and Serve.
//
// Threads: any, for Join, Ask, Mark and listeners.
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

// One who is told each second, on the feed's thread: hands over, and never blocks. It has left when it is destroyed.
class LiveListener {
 public:
  virtual ~LiveListener() = default;
  // A whole event of a text/event-stream.
  virtual void OnEvent(const SharedText& event) = 0;
};

// What there is to tell at one moment.
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
  // Asked on the feed's thread alone.
  struct Source {
    std::function<Sample()> sample;
    std::function<LiveState(LiveRates&)> describe;
  };
  // What this relay is, and when it began.
  struct About {
    uint64_t run = 0;  // milliseconds since 1970
    std::string name;
    std::string version;
    std::string store;
  };
  LiveFeed(Source source, About about, const Clock& clock = Clock::System());
  ~LiveFeed() { Stop(); }

  void Start();
  // Nobody is told anything any more. Again: nothing.
  void Stop();

  // False: as many as may be are there already, or it has stopped.
  bool Join(const std::shared_ptr<LiveListener>& listener);
  using Asker = std::function<void(const LiveMoment& moment)>;
  bool Ask(Asker asker);
  void Mark(LiveMark mark);
  size_t listeners() const;

  // What the thread does: each second, and when somebody came.
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

  mutable std::mutex mutex_;  // for what others touch
  std::condition_variable wake_up_;
  std::vector<std::weak_ptr<LiveListener>> listeners_;
  std::vector<std::weak_ptr<LiveListener>> joining_;  // of these, those that were not told yet
  std::vector<Asker> askers_;
  std::vector<LiveMark> new_marks_;
  bool stopped_ = false;

  // Of the feed's thread.
  LiveHistory history_;
  std::deque<LiveMark> marks_;
  LiveRates rates_;
  std::optional<LiveState> state_;  // of the newest tick or change
  SharedText json_;                 // of it, with the history

  std::thread thread_;
};

}  // namespace weir
