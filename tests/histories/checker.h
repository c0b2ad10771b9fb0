// Checks a history (history.h) against the promises of weir:
//
//   kLost       an acknowledged event (OK true) is missing in the complete answer (one with EOSE) to a REQ that
//               was sent after the OK, or did not come to a subscription that stayed open
//   kTwice      an event came twice on one subscription, and was neither banned nor expired by then
//   kUndone     an event came to a REQ that was sent after the event was gone, or came live much later, or a relay
//               accepted such an event again. It is gone when the deletion of its id or address, or the ban of it or of
//               its author, or the request to vanish of its author, was acknowledged, and when it has expired
//   kUnasked    a refused event came, an event came that the filter does not match, or one that no client has published
//   kSilent     a REQ has neither EOSE nor CLOSED; or a REQ has no EOSE when all work had ended
//   kDisagreed  two relays gave different answers to the same REQ when all work had ended
//   kReused     an origin gave one serial to two events
//
// An acknowledged event must come unless it was replaced, has expired, or a client has sent its deletion, or an
// administrator its ban, at any time before. While an event is being replaced, an answer may have neither of the two
// versions (relay/store/event_store.h). An ephemeral event must come only to subscriptions at the relay that accepted
// it, because the bus may lose it. If a relay answers with an error ("error: …"), or not at all, the event may come,
// but need not.
//
// Deliveries and EOSE are late only after `patience`, in which the faults at this relay do not count. Until the
// patience is over, other relays may still give events of an author who vanished, and what was banned, and accept it:
// they may call it a duplicate, or save it anew if it has been removed, so that it comes once more. An event expires by
// the clock of the relay that gives it. In the end relays are not compared by events that expire, because their clocks
// may differ. A client that reads slowly may be late itself: it must have received everything, EOSE too, only on
// subscriptions that are still open when the run ends, after a time in which it has read at full speed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/histories/history.h"

namespace weir::histories {

enum class Violation : uint8_t { kLost, kTwice, kUndone, kUnasked, kSilent, kDisagreed, kReused };
inline constexpr std::array kViolationNames = {"lost", "twice", "undone", "unasked", "silent", "disagreed", "reused"};

struct Verdict {
  static constexpr size_t kMostDetails = 20;

  std::array<size_t, kViolationNames.size()> counts{};
  std::vector<std::string> details;  // the first violations of each kind

  size_t acknowledged = 0, refused = 0, unanswered = 0;  // events, by the best of their answers
  size_t deliveries = 0;                                 // events that came before EOSE or live
  size_t live = 0;                                       // the number of events that came after EOSE
  size_t complete = 0;                                   // REQs with EOSE
  size_t between_versions = 0;  // addresses of which an answer had no version, as they were being replaced
  size_t bans = 0, confirmed_bans = 0;
  size_t crossed = 0;   // ephemeral events that came at another relay than the one that accepted them
  size_t required = 0;  // pairs of a subscription and an event that had to come to it

  size_t count(Violation violation) const { return counts[static_cast<size_t>(violation)]; }
  bool sound() const { return counts == decltype(counts){}; }
};

Verdict Check(const History& history, Time patience);

}  // namespace weir::histories
