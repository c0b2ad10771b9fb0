// TopSession: the main loop of `weir top`. It waits for news from the FeedFollower, for keys and for signals. On a
// terminal it draws the newest state as a screen; otherwise it prints a line for each state.
//
// The constructor blocks signals in the calling thread. Make the object before the follower's thread starts, so that
// this thread blocks them, too. The constructor also makes the process ignore SIGPIPE.
#pragma once

#include <functional>

#include "config/clock.h"
#include "config/status.h"
#include "relay/top/feed_follower.h"
#include "relay/top/keys.h"
#include "relay/top/terminal.h"
#include "relay/top/top_view.h"

namespace weir {

class TopSession {
 public:
  TopSession();
  ~TopSession();
  TopSession(const TopSession&) = delete;
  TopSession& operator=(const TopSession&) = delete;

  // Tells the session that the follower has news. May be called from any thread.
  void Wake();

  // Draws the follower's newest state on the terminal until a key or a signal ends the session, or the terminal is
  // gone. Returns an error if writing failed.
  Status ShowScreen(FeedFollower& follower, Look look);
  // Prints a line for each state until a signal ends the session, or the reader of the output is gone. Returns an error
  // if writing failed. Calls `complain`, on this thread, when the connection to the relay is lost, changes or is live
  // again.
  Status PrintLines(FeedFollower& follower, Charset charset, const std::function<void(const std::string&)>& complain);

 private:
  // Waits for news, a signal or, if `keys` is true, a key, but for `time` at most.
  void Wait(Duration time, bool keys);
  void TakeSignals(RawTerminal* terminal);
  void Suspend(RawTerminal* terminal);
  void TakeKeys(Look* look, const Drawn& drawn);
  void Press(const KeyPress& key, Look* look, const Drawn& drawn);

  int signals_ = -1;  // file descriptor from which the blocked signals are read
  int news_ = -1;     // file descriptor to which Wake writes
  KeyReader keys_;
  bool input_ended_;       // standard input has ended, or is no terminal
  bool had_news_ = false;  // news ended the last wait
  bool ended_ = false;     // the session has to end
  bool anew_ = true;       // the terminal may show something else than was drawn
};

}  // namespace weir
