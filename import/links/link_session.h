// LinkSession: one connection of a link (link.h). It first subscribes to what is new at the other relay and here, then
// compares the stores (import/sync/sync_session.h) and carries over what one side lacks, and then passes on what is new
// until the connection ends. New events that come during the comparison are kept, so there is no gap between the two.
//
// An event that came from the other relay is not sent back to it, and one that was sent there is not taken from it.
// Ephemeral events stay where they are.
//
// Threads: one thread runs a session.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "config/clock.h"
#include "config/status.h"
#include "import/links/link_order.h"
#include "import/links/own_events.h"
#include "import/sync/event_offer.h"
#include "import/sync/event_sink.h"
#include "import/sync/remote_relay.h"
#include "import/sync/sync_session.h"
#include "relay/account/running_limit.h"
#include "relay/nostr/event_parser.h"

namespace weir {

struct LinkSessionParts {
  RemoteRelay& relay;
  const EventStore& store;
  const LinkOrder& order;
  EventLimits limits;
  EventSink* sink = nullptr;  // gets what comes; null if the direction is up
  OwnEvents* own = nullptr;   // has what is new here; null if the direction is down
  BulkReads& reads;
  RunningLimit& comparisons;  // those of all links that may run at once, because each holds a set of ids in memory
  // Called a few times a second. The counts are those of what has gone over.
  std::function<void(bool is_live, const SyncCounts& counts)> on_progress;
  const WallClock& clock = WallClock::System();
};

class LinkSession {
 public:
  // The relay is asked for a sign of life after this silence, and given up after twice as long.
  static constexpr Duration kSilence = std::chrono::seconds(30);
  // Events that wait for the other relay's answer or have been refused for now; if there are more, own events are lost,
  // and are found by a further comparison.
  static constexpr size_t kMostOffered = 10'000;
  // The newest ids of events that went over, which are remembered.
  static constexpr size_t kRemembered = 8192;

  explicit LinkSession(LinkSessionParts parts);
  LinkSession(const LinkSession&) = delete;
  LinkSession& operator=(const LinkSession&) = delete;

  // Returns when the connection has ended, with the reason.
  Status Run();
  // Returns what has gone over, also after the end.
  SyncCounts counts() const;

 private:
  Status Subscribe();
  Status CatchUp(SyncDirection direction);
  Status Compare(Filter filter, SyncDirection direction);
  // Hears the other relay meanwhile.
  Result<std::unique_ptr<RunningLimit::Slot>> AwaitTurn();
  Status Live();
  Status OnMessage(const RelayMessage& message);
  Status TakeLive(std::string_view json);
  Status TakeOwn();
  Status LookForLife();
  // Returns false if the event has gone over already, either way.
  bool Remember(const EventId& id);
  bool Matches(EventView event) const;

  const LinkSessionParts parts_;
  const EventOffer::Say say_;
  EventOffer offer_;
  EventParser parser_;
  SyncCounts counts_;  // without those of offer_
  std::set<EventId> passed_;
  std::deque<EventId> passed_in_order_;  // has the ids of passed_, the oldest first
  uint64_t bytes_heard_ = 0;
  TimePoint heard_;
  bool pinged_ = false;
};

}  // namespace weir
