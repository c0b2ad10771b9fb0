// Watched: what is known of the relay that `weir top` watches, and of the way to it.
#pragma once

#include <optional>
#include <string>

#include "config/clock.h"
#include "relay/live/live_history.h"
#include "relay/top/feed_state.h"

namespace weir {

struct Watched {
  enum class Link : uint8_t {
    kLive,     // an event a second
    kPolled,   // no event comes: it is asked every five seconds
    kRefused,  // for want of a token that is right
    kLost,
  };

  Link link = Link::kLive;
  std::string origin;   // "http://127.0.0.1:3334"
  std::string problem;  // but for kLive: why, a part of a sentence; may be empty
  TimePoint heard;      // when the newest state came
  FeedState state;
  LiveHistory history;
};

}  // namespace weir
