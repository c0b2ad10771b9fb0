// FeedState: one event of /live/events, as relay/live/FEED.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/live/live_history.h"
#include "relay/metrics/live_tables.h"

namespace weir {

struct FeedState {
  uint64_t run = 0;
  std::string name;
  std::string version;
  std::string store;
  std::string mood;
  std::string summary;
  std::string write;  // the reasons
  std::string bulk;
  std::string read;
  LiveRow now;
  // What was changed since the start is one of them, "changed".
  std::vector<LiveTable> tables;
  std::vector<LiveRow> history;  // of an event `state` and of /live/state; the oldest first

  const LiveTable* Find(std::string_view table) const;
};

// Takes no offence at members that are missing or unknown, only at what is no such state, or of another format.
Result<FeedState> ReadFeedState(std::string_view json);

// Joins what a state brings to what is known: past a restart of the relay the rows before stay.
void Join(const FeedState& before, const FeedState& state, LiveHistory* history);

}  // namespace weir
