// LiveFeed: provides the data of the page at /live and of `weir top`. Each second it adds one row of figures to the
// history. While there are listeners, it also builds the state of the relay once a second and sends the same bytes to
// all of them.
//
//   LiveFeed feed({.sample = …, .describe = …}, {.run = …});
//   feed.Start();
//   feed.Join(listener);   // sends `listener` the state with its history, then an event each second
//   feed.Ask(asker);       // calls `asker` once, with the state
//
// FEED.md describes the state and the events. One thread, called the feed's thread below, does all the work. Start
// starts this thread; in a test without Start, it is the thread that calls Tick and Serve. Other threads may call Join,
// Ask, Mark, listeners and Stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/watch/live/live_history.h"
#include "relay/watch/live/live_state.h"

namespace weir {

using SharedText = std::shared_ptr<const std::string>;

// LiveListener: receives an event each second. The feed keeps only a weak pointer to a listener; to unsubscribe,
// destroy the listener.
class LiveListener {
 public:
  virtual ~LiveListener() = default;
  // Called on the feed's thread with one complete event in the format text/event-stream. Must not block.
  virtual void OnEvent(const SharedText& event) = 0;
};

// The state at one moment. The feed passes it to an Asker; it is valid only during that call.
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
  static constexpr size_t kMostMarks = 64;  // the feed keeps only the newest marks

  // The figures of one second, and the marks of the events in that second.
  struct Sample {
    LiveRow row;
    std::vector<LiveMark> marks;
  };
  // The functions from which the feed gets its contents. The feed calls them on its own thread only.
  struct Source {
    std::function<Sample()> sample;                 // called each second
    std::function<LiveState(LiveRates&)> describe;  // called if a listener or an asker needs a newer state
  };
  // Identifies the relay and its present run.
  struct About {
    uint64_t run = 0;     // when the run began, in milliseconds since 1970
    std::string name;     // the relay's name
    std::string version;  // the program's version
    std::string store;    // "rocksdb", or the address of a PostgreSQL server
  };
  LiveFeed(Source source, About about, const Clock& clock = Clock::System());
  ~LiveFeed() { Stop(); }

  // Starts the feed's thread. Call it at most once.
  void Start();
  // Ends the feed's thread and waits for it. After that, the feed calls no listener and no asker; it drops the askers
  // that were waiting. A second call does nothing. Must not be called on the feed's thread.
  void Stop();

  // Adds a listener. The feed first sends it the state with the history, then an event each second. Returns false and
  // does not add the listener if there are already kMostListeners, or if Stop was called.
  bool Join(const std::shared_ptr<LiveListener>& listener);
  // A function that the feed calls once, on its thread, unless Stop is called first. It must not block.
  using Asker = std::function<void(const LiveMoment& moment)>;
  // Queues `asker` for the feed's thread, which calls it soon. Returns false and never calls `asker` if kMostAskers
  // askers are already queued, or if Stop was called.
  bool Ask(Asker asker);
  // Queues a mark, which the feed's thread adds to the state. Drops the mark if kMostMarks marks are already queued.
  void Mark(LiveMark mark);
  // Returns the number of listeners that still exist.
  size_t listeners() const;

  // The two steps of the feed's thread. Tick, called each second, adds a row and sends an event to the listeners that
  // already have the state. Serve, called after Tick and when a listener or an asker was added, sends the state to the
  // new listeners and calls the askers.
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

  mutable Mutex mutex_;
  Condition wake_up_;
  std::vector<std::weak_ptr<LiveListener>> listeners_ WEIR_GUARDED_BY(mutex_);
  // The listeners to which Serve has to send the state.
  std::vector<std::weak_ptr<LiveListener>> joining_ WEIR_GUARDED_BY(mutex_);
  std::vector<Asker> askers_ WEIR_GUARDED_BY(mutex_);
  std::vector<LiveMark> new_marks_ WEIR_GUARDED_BY(mutex_);
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;

  // Used by the feed's thread only.
  LiveHistory history_;
  std::deque<LiveMark> marks_;
  LiveRates rates_;
  std::optional<LiveState> state_;  // the present state; nullopt after a tick or a mark, until it is needed
  SharedText json_;                 // state_ and the history as JSON; null until it is needed

  std::thread thread_;
};

}  // namespace weir
