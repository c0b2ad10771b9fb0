// LineJudge: judges the lines of an import. It turns each line into an event to save, or decides the outcome of the
// line: blank, expired, or rejected with a reason.
//
// The operator of a relay chooses what to import. So an import checks that an event is genuine (form, id, signature),
// that this relay can hold it (limits of size) and that it does no harm (created_at is not too far in the future, and
// relays store events of its kind). An import does not apply the rules that protect a relay from unknown clients (age,
// proof of work, protected events).
//
// The judge does not decide whether an event is a duplicate. The store decides this when it saves the event, because
// earlier lines of the import may change what is stored. But if the store already has the event with the same
// signature, the judge does not verify the signature again.
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
  uint64_t max_future_s = 900;  // seconds by which created_at may be in the future
  bool verify = true;           // false: signatures are not verified
};

// A chunk whose lines are judged.
struct JudgedChunk {
  SettledChunk settled;       // outcomes of all lines except those of `events`; Pipeline adds these after the save
  std::vector<Event> events;  // the events to save, in the order of the lines
  uint64_t new_bytes = 0;     // bytes of the events that are not in the store yet
};

class LineJudge {
 public:
  // If `store` is null, the judge verifies every signature, unless `options.verify` is false. Only one thread at a time
  // may use a judge, because it reuses its buffers. `store` and `clock` must outlive the judge.
  LineJudge(const JudgeOptions& options, const EventStore* store, const WallClock& clock);

  // Judges all lines of the chunk, and returns their outcomes and the events to save. If the store cannot be read,
  // verifies signatures as if there were no store.
  JudgedChunk Judge(Chunk chunk);

 private:
  // The place of a line: its number in the input, and its offset and size in bytes in the chunk's text.
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
  // Returns nullopt if it added an event to `judged`; the signature of the event is not verified yet.
  std::optional<Verdict> JudgeLine(std::string_view line, JudgedChunk* judged);
  std::optional<Verdict> JudgeEvent(EventView event) const;
  void JudgeSignatures(const std::vector<Place>& places, JudgedChunk* judged);

  const JudgeOptions options_;
  const EventStore* const store_;
  const WallClock& clock_;
  EventParser parser_;
  uint64_t now_seconds_ = 0;  // time of the last call of Judge
};

}  // namespace weir
