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
  std::string write;  // the reasons of each class of work
  std::string bulk;
  std::string read;
  LiveRow now;
  // They include "changed": the settings that were changed since the start.
  std::vector<LiveTable> tables;
  std::vector<LiveRow> history;  // only in an event `state` and in /live/state; the oldest row first

  const LiveTable* Find(std::string_view table) const;
};

// Accepts members that are missing or unknown. Returns an error if the text is no such state, or of another format.
Result<FeedState> ReadFeedState(std::string_view json);

// Adds the rows that `state` brings to `history`. After a restart of the relay, the rows from before it stay.
void Join(const FeedState& before, const FeedState& state, LiveHistory* history);

}  // namespace weir
