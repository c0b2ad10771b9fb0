// LinkSession: one connection of a link (link.h). It subscribes to what is new at the other relay and watches what is
// new here, and passes both on until the connection ends. Beside that it compares the stores once
// (import/sync/sync_session.h) and carries over what one side lacks, so there is no gap. A comparison waits until few
// others run.
//
// An event that came from the other relay is not sent back to it, and one that was sent there is not taken from it.
// Ephemeral events stay where they are.
//
// Threads: one thread runs a session.
#pragma once

#include <deque>
#include <functional>
#include <optional>
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
  RunningLimit& comparisons;  // bounds the comparisons of all links, because each holds a set of ids
  // Called a few times a second. `is_live` is false while a comparison is owed or runs.
  std::function<void(bool is_live, const SyncCounts& counts)> on_progress;
  const WallClock& clock = WallClock::System();
};

class LinkSession {
 public:
  // The relay is asked for a sign of life after this silence, and given up after twice as long.
  static constexpr Duration kSilence = std::chrono::seconds(30);
  // Events that wait for the other relay's answer, or that it has refused for now. If there are more, own events are
  // left out, and a further comparison finds them.
  static constexpr size_t kMostOffered = 10'000;
  // Events in a row that do not match the filters, or are ephemeral, after which the connection ends.
  static constexpr uint64_t kMostUseless = 10'000;
  // The newest ids of events that went over, which are remembered.
  static constexpr size_t kRemembered = 8192;

  // Returns true for an event that a link with this order passes on.
  static bool Passes(const LinkOrder& order, EventView event);

  explicit LinkSession(LinkSessionParts parts);
  LinkSession(const LinkSession&) = delete;
  LinkSession& operator=(const LinkSession&) = delete;

  // Returns when the connection has ended, with the reason.
  Status Run();
  // Returns what has gone over, also after the end.
  SyncCounts counts() const;

 private:
  bool compares() const { return parts_.order.catch_up_s != 0; }
  Status Subscribe();
  Status Compare(SyncDirection direction);
  Status Compare(Filter filter, SyncDirection direction);
  Status PassOn();
  Status OnMessage(const RelayMessage& message);
  Status TakeLive(std::string_view json);
  Status LookForLife();
  // Returns false if the event has gone over already, either way.
  bool Remember(const EventId& id);

  const LinkSessionParts parts_;
  const EventOffer::Say say_;
  EventOffer offer_;
  EventParser parser_;
  std::optional<SyncDirection> owed_;  // the comparison that is to be made
  uint64_t useless_ = 0;               // in a row
  SyncCounts counts_;                  // without those of offer_
  std::set<EventId> passed_;
  std::deque<EventId> passed_in_order_;  // has the ids of passed_, the oldest first
  uint64_t bytes_heard_ = 0;
  TimePoint heard_;
  TimePoint looked_{};
  bool pinged_ = false;
};

}  // namespace weir
