// TopSession: `weir top` while it runs. It waits for the feed, for keys and for signals, and shows the newest state: on
// a terminal as a screen that is drawn anew, else as a line for each state.
//
// Make it before the follower starts its thread, which then inherits the blocked signals.
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

  // Tells the session that there is news. For the follower, from any thread.
  void Wake();

  // Return when a key or a signal has ended the session, or the reader of the output is gone. The error says why
  // writing failed.
  Status ShowScreen(FeedFollower& follower, Look look);
  Status PrintLines(FeedFollower& follower, Charset charset, const std::function<void(const std::string&)>& complain);

 private:
  // Waits for news, a signal or, if `keys`, a key, for `time` at most.
  void Wait(Duration time, bool keys);
  void TakeSignals(RawTerminal* terminal);
  void Suspend(RawTerminal* terminal);
  void TakeKeys(Look* look, const Drawn& drawn);
  void Press(const KeyPress& key, Look* look, const Drawn& drawn);

  int signals_ = -1;
  int news_ = -1;
  KeyReader keys_;
  bool input_ended_;       // or input is no terminal
  bool had_news_ = false;  // news ended the last wait
  bool ended_ = false;
  bool anew_ = true;  // the terminal may show something else than was drawn
};

}  // namespace weir
