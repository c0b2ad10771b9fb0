// Link: keeps this relay and another one equal for as long as it lives, as its order says (link_order.h). It connects,
// compares and passes on (link_session.h). If the connection ends, it connects again, after a pause that grows up to
// five minutes and is random, so that the clients of a relay that was away do not all come back at once.
//
// Events that come are bulk work: the limiter paces them, their signatures are verified on a thread of low priority,
// and a relay that sends faster than this one can save waits at its socket.
//
// Threads: a link has threads of its own. Any thread may call any function; Stop belongs to the owner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "import/links/link_order.h"
#include "import/links/link_state.h"
#include "import/sync/event_sink.h"
#include "relay/account/running_limit.h"
#include "relay/protocol/delivery.h"
#include "relay/protocol/relay_settings.h"
#include "relay/store/bulk_reads.h"
#include "relay/store/event_store.h"

namespace weir {

class RemoteRelay;

struct LinkParts {
  const EventStore& store;
  Delivery& delivery;
  const RelaySettings& settings;
  BulkReads::Admit admit_read;
  RunningLimit& comparisons;        // see LinkSessionParts
  EventSink::OpenDestination open;  // opens the place for what comes
  const Clock& clock = Clock::System();
};

class Link {
 public:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::minutes(5);

  // Begins to connect. The parts must outlive the link.
  Link(LinkParts parts, LinkOrder order);
  ~Link();

  const LinkOrder& order() const { return order_; }
  LinkState State() const;
  // Makes the link end. May wait for a save that is under way.
  void StopSoon();

 private:
  void Run();
  Status Connect();
  Status RunSession(RemoteRelay& relay, EventSink* sink);
  void Enter(LinkPhase phase) WEIR_REQUIRES(mutex_);
  void NoteCounts(const SyncCounts& counts) WEIR_REQUIRES(mutex_);
  void NoteEnd(const Status& ended) WEIR_REQUIRES(mutex_);
  std::unique_ptr<EventSink> TakeSink();
  Duration PauseAfter(int failures);

  const LinkParts parts_;
  const LinkOrder order_;
  BulkReads reads_;
  std::stop_source stop_;

  // These belong to the thread.
  std::mt19937_64 random_{std::random_device{}()};
  bool was_steady_ = false;   // the last connection was live for long
  SyncCounts counts_before_;  // sums over the connections that have ended

  mutable Mutex mutex_;
  Condition changed_;
  TimePoint entered_ WEIR_GUARDED_BY(mutex_);  // when the phase began
  LinkState state_ WEIR_GUARDED_BY(mutex_);    // without `lasts`, and without what sink_ knows
  // The place for what comes on the present connection; null: nothing comes. The thread alone changes it.
  std::unique_ptr<EventSink> sink_ WEIR_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace weir
