// TopSession: the main loop of `weir top`. The loop waits for news (a call of Wake), for keys and for signals.
// ShowScreen draws, on a terminal, the newest state of the relay that a FeedFollower has received. PrintLines, for any
// other output, prints a line for each new state.
//
// The constructor blocks, in the calling thread, the signals that the loop handles. Make the object before
// FeedFollower::Start, so that the follower's thread inherits the blocked signals. The constructor also makes the
// process ignore SIGPIPE.
#pragma once

#include <functional>

#include "config/clock.h"
#include "config/status.h"
#include "relay/watch/top/feed_follower.h"
#include "relay/watch/top/terminal.h"
#include "relay/watch/top/terminal_keys.h"
#include "relay/watch/top/top_view.h"

namespace weir {

class TopSession {
 public:
  TopSession();
  ~TopSession();
  TopSession(const TopSession&) = delete;
  TopSession& operator=(const TopSession&) = delete;

  // Ends the wait of the loop, because the follower has a new state. May be called from any thread.
  void Wake();

  // Draws the follower's newest state on the terminal when it comes, and otherwise about once a second, until a key or
  // a signal ends the session or the terminal is gone. Returns an error if writing failed.
  Status ShowScreen(FeedFollower& follower, Look look);
  // Prints a line for each state until a signal ends the session, or the reader of the output is gone. Returns an error
  // if writing failed. Whenever the connection to the relay fails, works again or changes in another way
  // (Watched::link), calls `complain` with a message, on this thread.
  Status PrintLines(FeedFollower& follower, Charset charset, const std::function<void(const std::string&)>& complain);

 private:
  // Waits for news, a signal or, if `keys` is true, a key, but at most for `time`. If news ended the last wait, first
  // waits up to 200 ms without regard to news.
  void Wait(Duration time, bool keys);
  void TakeSignals(RawTerminal* terminal);
  void Suspend(RawTerminal* terminal);
  void TakeKeys(Look* look, const Drawn& drawn);
  void Press(const KeyPress& key, Look* look, const Drawn& drawn);

  int signals_ = -1;  // file descriptor from which the blocked signals are read
  int news_ = -1;     // file descriptor to which Wake writes
  KeyReader keys_;
  bool input_ended_;       // true if standard input has ended, or is no terminal
  bool had_news_ = false;  // true if news ended the last wait
  bool ended_ = false;     // true if the session has to end
  bool anew_ = true;       // true if the next frame has to clear the terminal first
};

}  // namespace weir
