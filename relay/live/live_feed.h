// LiveFeed: once a second a row for the history, and, while somebody looks, the whole state: made once, for all of them
// the same bytes.
//
//   LiveFeed feed({.sample = …, .describe = …}, {.run = …});
//   feed.Tick();                  // once a second, by one thread
//   feed.Join(listener);          // gets the state with its history at once, then an event a second
//   feed.State();                 // the same as JSON, for who asks once
//
// The JSON is described in README.md.
//
// Threads: Tick by one thread, all else by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/clock.h"
#include "relay/live/live_history.h"
#include "relay/live/live_state.h"

namespace weir {

using SharedText = std::shared_ptr<const std::string>;

// One who is told each second. Called by the thread of the feed, or by that of Join: hands over, and never blocks.
class LiveListener {
 public:
  virtual ~LiveListener() = default;
  // A whole event of a text/event-stream.
  virtual void OnEvent(const SharedText& event) = 0;
};

class LiveFeed {
 public:
  // A page is a connection; each costs what a second's send of some kilobytes does.
  static constexpr size_t kMostListeners = 128;
  static constexpr size_t kMostMarks = 64;

  // Asked by Tick, and by State where nobody looked before.
  struct Source {
    std::function<LiveRow()> sample;
    std::function<LiveState(LiveRates&)> describe;
  };
  // What stays: what this relay is.
  struct About {
    uint64_t run = 0;  // milliseconds since 1970 at its start
    std::string name;
    std::string version;
    std::string store;
  };
  LiveFeed(Source source, About about, const Clock& clock = Clock::System());

  void Tick();
  // From now on it is in all histories.
  void Mark(LiveMark mark);

  // With the history. Made at most once a second, however many ask.
  SharedText State();
  // What State is made of, for the page without JavaScript.
  LiveState Describe();

  // False: there are kMostListeners already. One that is gone is forgotten.
  bool Join(const std::shared_ptr<LiveListener>& listener);
  void Leave(const LiveListener& listener);
  size_t listeners() const;

 private:
  struct Rep;
  std::shared_ptr<Rep> rep_;
};

}  // namespace weir
