// SyncSession: makes the events of one filter equal here and at another relay, over one connection. It compares the two
// sets (negentropy_rounds.h, or page_walk.h if the relay does not know NIP-77), and meanwhile gets the events that only
// the relay has and sends those that only this store has.
//
// The session ends with an error if the connection does, or if the relay is silent for kLongestSilence while something
// is under way. What has gone over by then stays; a further session goes on.
//
// Threads: one thread runs a session.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"
#include "import/sync/event_fetch.h"
#include "import/sync/event_offer.h"
#include "import/sync/negentropy_rounds.h"
#include "import/sync/page_walk.h"
#include "import/sync/remote_relay.h"
#include "import/sync/sync_counts.h"
#include "relay/store/event_store.h"

namespace weir {

struct SyncParts {
  RemoteRelay& relay;
  const EventStore& store;
  Filter filter;  // without a limit and a search
  SyncDirection direction = SyncDirection::kBoth;
  bool dry_run = false;   // only compares
  EventFetch::Take take;  // gets the JSON of each event of the relay that the store lacks, not checked
  std::function<void(const SyncCounts& counts)> on_progress;  // called a few times a second
};

class SyncSession {
 public:
  static constexpr Duration kLongestSilence = std::chrono::seconds(60);
  // A relay that knows NIP-77 has then read its events; one that does not may ignore the message.
  static constexpr Duration kLongestOpening = std::chrono::seconds(20);

  explicit SyncSession(SyncParts parts);
  SyncSession(const SyncSession&) = delete;
  SyncSession& operator=(const SyncSession&) = delete;

  Status Run();
  // Returns what the session has done, also after an error.
  SyncCounts counts() const;

 private:
  Status ReadOwn();
  Status Step();
  Status Compare();
  Status OnMessage(const RelayMessage& message);
  Status OnSilence();
  Status TurnToPages(const std::string& why);
  bool IsCompared() const { return pages_ ? offers_rest_ : rounds_.is_done(); }
  bool wants_down() const { return !parts_.dry_run && parts_.direction != SyncDirection::kUp; }
  bool wants_up() const { return !parts_.dry_run && parts_.direction != SyncDirection::kDown; }

  const SyncParts parts_;
  const std::function<Status(std::string_view message)> say_;
  SyncSet own_;
  NegentropyRounds rounds_{own_};
  std::optional<PageWalk> pages_;
  EventFetch fetch_;
  EventOffer offer_;
  bool offers_rest_ = false;  // the pages are read, and the events that they did not show are offered
  SyncCounts counts_;
  TimePoint heard_;
};

}  // namespace weir
