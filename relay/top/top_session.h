// TopSession: `weir top` while it runs: waits for the feed, for keys and for signals, and shows what there is: on a
// terminal a screen that is drawn anew, else a line for each state.
//
// Make it before the follower starts its thread: from then on signals wait for it.
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

  // For the follower: something is new. From any thread.
  void Wake();

  // Return when somebody has ended it, or nobody reads any more; the error says why nothing can be written.
  Status ShowScreen(FeedFollower& follower, Look look);
  Status PrintLines(FeedFollower& follower, Charset charset, const std::function<void(const std::string&)>& complain);

 private:
  // Waits for any of what there is, for a time at most.
  void Wait(Duration time, bool keys);
  void TakeSignals(RawTerminal* terminal);
  void Suspend(RawTerminal* terminal);
  void TakeKeys(Look* look, const Drawn& drawn);
  void Press(const KeyPress& key, Look* look, const Drawn& drawn);

  int signals_ = -1;
  int news_ = -1;
  KeyReader keys_;
  bool input_ended_;       // or is no terminal
  bool had_news_ = false;  // it ended the wait before
  bool ended_ = false;
  bool anew_ = true;  // what stands on the terminal is not what was drawn there
};

}  // namespace weir
