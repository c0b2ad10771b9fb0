// LinkState: what a link with another relay (link.h) does, and what it has done so far.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"
#include "config/text/json_writer.h"
#include "import/links/link_order.h"
#include "import/sync/event_sink.h"
#include "import/sync/sync_counts.h"

namespace weir {

enum class LinkPhase : uint8_t { kConnecting, kComparing, kLive, kWaiting };
std::string_view NameOf(LinkPhase phase);  // "connecting"

// The error for an id of a link that is not open begins with this.
inline constexpr std::string_view kNoLink = "no link ";

struct LinkState {
  uint64_t id = 0;  // names the link (router.h)
  LinkOrder order;
  LinkPhase phase = LinkPhase::kConnecting;
  Duration lasts{};          // since the phase began
  std::string trouble;       // why the last connection ended, or why nothing can be saved; empty: none
  uint64_t connections = 0;  // made so far
  SyncCounts counts;         // sums over all connections
  EventSink::Outcome came;   // the outcomes of the events that came
};

// Returns the state as an object: id, group, url, dir, state, for_s, trouble, connections, received (events that came),
// saved (the received events by their outcome, as in weir import), rejected (by reason), unasked (they do not match the
// filters), missing (announced there and not given), accepted (there), refused (there, by reason), withheld (private),
// bytes_sent, bytes_received.
void WriteState(const LinkState& state, JsonWriter& json);

// The figures that a program reads from what WriteState has written.
struct LinkFigures {
  uint64_t id = 0;
  std::string phase;
  std::string trouble;
  uint64_t received = 0;
  uint64_t imported = 0;
  uint64_t rejected = 0;
  uint64_t accepted = 0;
  uint64_t refused = 0;
};
Result<LinkFigures> ReadFigures(std::string_view json);

}  // namespace weir
