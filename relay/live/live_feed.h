// LiveFeed: the source of the live page and of `weir top`. Each second it adds a row of figures to the history. While
// there are listeners, it also makes the whole state each second, once, and all listeners get the same bytes.
//
//   LiveFeed feed({.sample = …, .describe = …}, {.run = …});
//   feed.Start();
//   feed.Join(listener);   // `listener` soon gets the state with its history, then an event each second
//   feed.Ask(asker);       // `asker` gets the state once
//
// FEED.md describes the state and the events. One thread, "the feed's thread", does all work. It is the thread that
// Start starts or, in tests without Start, the thread that calls Tick and Serve. Any other thread may call Join, Ask,
// Mark, listeners and Stop.
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

// Gets an event each second. The feed holds only a weak pointer to a listener, so a listener leaves by being destroyed.
class LiveListener {
 public:
  virtual ~LiveListener() = default;
  // Called on the feed's thread, with a whole event of a text/event-stream. Must pass the event on, and never block.
  virtual void OnEvent(const SharedText& event) = 0;
};

// The state at one moment. It is valid only while the Asker that got it runs.
struct LiveMoment {
  const LiveState& state;
  const LiveRow& row;  // the newest row
  const std::deque<LiveMark>& marks;
  std::function<SharedText()> json;  // returns the state as JSON, with the history
};

class LiveFeed {
 public:
  static constexpr size_t kMostListeners = 128;
  static constexpr size_t kMostAskers = 64;
  static constexpr size_t kMostMarks = 64;  // the newest marks are kept

  // The figures of one second.
  struct Sample {
    LiveRow row;
    std::vector<LiveMark> marks;
  };
  // The functions that make the contents of the feed. They are called on the feed's thread only.
  struct Source {
    std::function<Sample()> sample;                 // called each second
    std::function<LiveState(LiveRates&)> describe;  // called when a listener or an asker needs a newer state
  };
  // Identifies the relay and its present run.
  struct About {
    uint64_t run = 0;     // when the run began, in milliseconds since 1970
    std::string name;     // the relay's name
    std::string version;  // the program's version
    std::string store;    // "rocksdb", or the address of a PostgreSQL
  };
  LiveFeed(Source source, About about, const Clock& clock = Clock::System());
  ~LiveFeed() { Stop(); }

  // Starts the feed's thread. Call it at most once.
  void Start();
  // Ends the feed's thread. Once Stop has returned, no listener or asker is called any more; askers that still wait are
  // dropped without a call. A second call does nothing. Must not be called on the feed's thread.
  void Stop();

  // Adds a listener. Its first event is the state with the history; then it gets an event each second. Returns false,
  // and does not add the listener, if there are kMostListeners already, or after Stop.
  bool Join(const std::shared_ptr<LiveListener>& listener);
  // Called once, on the feed's thread, unless Stop is called first. Must not block.
  using Asker = std::function<void(const LiveMoment& moment)>;
  // Passes `asker` to the feed's thread, which calls it soon. Returns false, and never calls `asker`, if kMostAskers
  // others wait already, or after Stop.
  bool Ask(Asker asker);
  // Adds a mark to the state. The mark is dropped if kMostMarks others still wait for the feed's thread.
  void Mark(LiveMark mark);
  // Returns the number of listeners that have not left.
  size_t listeners() const;

  // The two steps of the feed's thread. Tick, called each second, adds a row and sends the listeners an event. Serve,
  // called after Tick and when a listener or an asker has come, sends new listeners the state and calls the askers.
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

  mutable std::mutex mutex_;  // guards the members from here to stopped_
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
  std::optional<LiveState> state_;  // the state since the newest tick or mark; nullopt until it is needed
  SharedText json_;                 // state_ with the history; null until it is needed

  std::thread thread_;
};

}  // namespace weir
