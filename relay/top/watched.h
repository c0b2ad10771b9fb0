// Watched: the state of the relay that `weir top` watches, and of the connection to it.
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
    kPolled,   // no event comes; the state is polled every five seconds
    kRefused,  // the relay refuses the token, or asks for one
    kLost,
  };

  Link link = Link::kLive;
  std::string origin;   // "http://127.0.0.1:3334"
  std::string problem;  // says why the link is not kLive, as a part of a sentence; may be empty
  TimePoint heard;      // when the newest state came
  FeedState state;
  LiveHistory history;
};

}  // namespace weir
