// FeedState: the state of a relay at one moment, as read from GET /live/state or from one server-sent event of GET
// /live/events. relay/live/FEED.md describes the JSON.
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
  uint64_t run = 0;     // when the relay's process began, in milliseconds since 1970
  std::string name;     // the relay's name
  std::string version;  // the version of the relay's program
  std::string store;    // "rocksdb", or the address of a PostgreSQL
  std::string mood;     // the relay's condition: "calm", "limiting", …
  std::string summary;  // the condition in a sentence
  std::string write;    // the reason that limits each class of work, or comes nearest to limiting it
  std::string bulk;
  std::string read;
  LiveRow now;  // the figures of the newest second
  // The tables that the relay has sent. If settings were changed since its start, a last table, "changed", lists them
  // with their present value and the value that a restart brings back.
  std::vector<LiveTable> tables;
  // The rows of the last ten minutes, the oldest first. Empty in an event `tick`, which has no history.
  std::vector<LiveRow> history;

  // Returns the table of that name; null if there is none. The pointer is valid until `tables` changes.
  const LiveTable* Find(std::string_view table) const;
};

// Reads a state from JSON. Skips unknown members; a member that is missing, or has another type than expected, is left
// empty. Only the member `format` must be there. Returns an error if `format` is missing or is not 1, and if the text
// is no JSON object.
Result<FeedState> ReadFeedState(std::string_view json);

// Brings `history` up to date with `state`, the state that came after `before`. If `state` has no history, its row
// `now` is appended. Otherwise its history replaces all rows. But if the relay was started again (`run` differs) and
// all new rows are later than those of `history`, the new rows are appended, so that the old ones stay.
void Join(const FeedState& before, const FeedState& state, LiveHistory* history);

}  // namespace weir
