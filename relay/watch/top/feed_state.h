// FeedState: the state of a relay at one moment, as read from GET /live/state or from one server-sent event of GET
// /live/events. relay/watch/live/FEED.md describes the JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/watch/live/live_history.h"

namespace weir {

struct FeedState {
  uint64_t run = 0;     // when the relay's process began, in milliseconds since 1970
  std::string name;     // the relay's name
  std::string version;  // the version of the relay's program
  std::string store;    // "rocksdb", or the address of a PostgreSQL server
  std::string mood;     // the relay's condition: "calm", "limiting", …
  std::string summary;  // the condition in a sentence
  std::string write;    // the reason why writes are limited, or what comes nearest to limiting them
  std::string bulk;     // the same for bulk work
  std::string read;     // the same for reads
  LiveRow now;          // the figures of the newest second
  // The tables that the relay has sent. If settings were changed since the relay's start, ReadFeedState adds a last
  // table, "changed", with their present values and the values that a restart brings back.
  std::vector<LiveTable> tables;
  // The rows of the last ten minutes, the oldest first. Empty after an event `tick`, which has no history.
  std::vector<LiveRow> history;

  // Returns the table of that name; null if there is none. The pointer is valid until `tables` changes.
  const LiveTable* Find(std::string_view table) const;
};

// Reads a state from JSON. Ignores unknown members, and leaves a member empty that is missing or has another type than
// expected. Returns an error if the text is no JSON object, or if its member `format` is missing or is not 1.
Result<FeedState> ReadFeedState(std::string_view json);

// Updates `history` by `state`, which came after the state `before`. If `state` has no history, appends the row
// state.now. Otherwise replaces all rows by those of state.history; but if the relay was restarted between the two
// states (`run` differs) and the first new row is later than the last old row, keeps the old rows and appends the new
// ones.
void Join(const FeedState& before, const FeedState& state, LiveHistory* history);

}  // namespace weir
