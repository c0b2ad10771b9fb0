// LineJudge: turns a line into an event that may be saved, or says why not. The rest is for the store to answer.
//
// An import takes what its operator brings: it checks what makes an event true (form, id, signature), what this relay
// can hold (its limits of size) and what would do harm (a date in the future, kinds that are not stored). It does not
// apply the rules that guard a relay against strangers (age, proof of work, protected events).
//
// Save decides whether a line is a duplicate, when its turn has come: an earlier line may have made the store drop what
// is there now. But an event that is stored with the same signature is not verified again.
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
  SettledChunk settled;       // the outcomes known so far; those of the events are added when they are saved
  std::vector<Event> events;  // in the order of the lines
  uint64_t new_bytes = 0;     // bytes of the events that were not found in the store and have to be written
};

class LineJudge {
 public:
  // `store` may be null; then every signature has to be verified. For one thread at a time; keeps its buffers.
  LineJudge(const JudgeOptions& options, const EventStore* store, const WallClock& clock);

  JudgedChunk Judge(Chunk chunk);

 private:
  // The place of a line.
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
  // Returns nothing if an event was added; its signature is not verified yet.
  std::optional<Verdict> JudgeLine(std::string_view line, JudgedChunk* judged);
  std::optional<Verdict> JudgeEvent(EventView event) const;
  void JudgeSignatures(const std::vector<Place>& places, JudgedChunk* judged);

  const JudgeOptions options_;
  const EventStore* const store_;
  const WallClock& clock_;
  EventParser parser_;
  uint64_t now_seconds_ = 0;  // when Judge was called
};

}  // namespace weir
