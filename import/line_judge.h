// LineJudge: from a line to an event that may be saved, or to why not. Everything but the store's own answer.
//
// An import takes what its operator brings: it asks for what makes an event true (form, id, signature), for what this
// relay can hold (its limits of size) and for what would do harm (a date in the future, kinds that are not stored); not
// for the rules that guard a relay against strangers (age, proof of work, protected events).
//
// Whether a line is a duplicate is for Save to say when its turn has come: a line before it may have made the store
// drop what is there now. But what is stored with the same signature is not verified once more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "import/settled.h"
#include "relay/nostr/event_parser.h"
#include "relay/store/event_store.h"

namespace weir {

struct JudgeOptions {
  EventLimits limits;
  uint64_t max_future_s = 900;
  bool verify = true;
};

// A chunk whose lines are judged.
struct JudgedChunk {
  SettledChunk settled;       // with the outcomes that are known; the events' are added when they are saved
  std::vector<Event> events;  // in the order of the lines
  uint64_t new_bytes = 0;     // of those that were not found in the store: what there is to write
};

class LineJudge {
 public:
  // `store` may be null: every signature is verified then. One thread at a time; keeps its buffers.
  LineJudge(const JudgeOptions& options, const EventStore* store, const WallClock& clock);

  JudgedChunk Judge(Chunk chunk);

 private:
  // Where a line is.
  struct Place {
    uint64_t number;
    size_t begin;
    size_t size;
  };
  struct Verdict {
    LineOutcome outcome = LineOutcome::kImported;
    std::string reason;
  };

  void JudgeLines(JudgedChunk* judged);
  static void Settle(const Place& place, Verdict verdict, SettledChunk* settled);
  // Nothing: an event was added whose signature is not verified yet.
  std::optional<Verdict> JudgeLine(std::string_view line, JudgedChunk* judged);
  std::optional<Verdict> JudgeEvent(EventView event) const;
  void JudgeSignatures(const std::vector<Place>& places, JudgedChunk* judged);

  const JudgeOptions options_;
  const EventStore* const store_;
  const WallClock& clock_;
  EventParser parser_;
  uint64_t now_seconds_ = 0;  // as of the chunk
};

}  // namespace weir
