// Watched: the state and history of the relay that `weir top` watches, and the state of the connection to it.
#pragma once

#include <optional>
#include <string>

#include "config/clock.h"
#include "relay/watch/live/live_history.h"
#include "relay/watch/top/feed_state.h"

namespace weir {

struct Watched {
  enum class Link : uint8_t {
    kLive,     // an event comes each second
    kPolled,   // no events come, so the follower requests the state every five seconds
    kRefused,  // the relay refuses the token, or requires one and none was sent
    kLost,     // the relay does not answer
  };

  Link link = Link::kLive;
  std::string origin;   // the relay's address: "http://127.0.0.1:3334"
  std::string problem;  // why the link is not kLive, in words; may be empty
  TimePoint heard;      // the time at which the newest state came
  FeedState state;
  LiveHistory history;
};

}  // namespace weir
