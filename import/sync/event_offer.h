// EventOffer: sends stored events to another relay as EVENT messages, a bounded number at a time, and counts its
// answers. If the relay refuses one as "rate-limited", the offer waits, sends fewer at a time from then on, and sends
// that one again, at most kMostTries times.
//
// Private events (direct messages and gift wraps) are not sent unless the caller asks for them, and neither are events
// that are longer than the relay takes.
//
// Threads: only one thread at a time may use an EventOffer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "import/sync/reason_counts.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/relay_message.h"
#include "relay/store/event_store.h"

namespace weir {

class EventOffer {
 public:
  using Say = std::function<Status(std::string_view message)>;
  // Calls `take` with the stored events that have these ids.
  using Read = std::function<Status(std::span<const EventId> ids, const std::function<void(EventView event)>& take)>;

  static constexpr size_t kMostUnanswered = 256;
  static constexpr int kMostTries = 10;
  static constexpr Duration kPause = std::chrono::seconds(1);  // the first; each further one is twice as long
  static constexpr Duration kLongestPause = std::chrono::seconds(30);

  struct Limits {
    std::vector<Filter> filters = {};  // a private event goes out if one of them matches it and names its kind
    size_t most_event_bytes = SIZE_MAX;
    std::function<void(const EventId& id)> on_sent = [](const EventId&) {};
  };
  // Returns the longest event that a relay takes which takes messages of this size.
  static size_t MostEventBytes(size_t most_message_bytes);
  // Reads from the store, which must outlive the function.
  static Read ReadFrom(const EventStore& store);

  EventOffer(Read read, Limits limits, const Clock& clock = Clock::System())
      : read_(std::move(read)), limits_(std::move(limits)), clock_(clock) {}

  void Offer(const EventId& id) { waiting_.push_back({id, 0}); }
  // Sends events until as many have no answer as the relay lets it have.
  Status SendMore(const Say& say);
  // Returns true if the message answers one of the events.
  bool OnMessage(const RelayMessage& message);

  bool is_idle() const { return waiting_.empty() && unanswered_.empty(); }
  size_t waiting() const { return waiting_.size(); }
  uint64_t accepted() const { return accepted_; }
  uint64_t gone() const { return gone_; }          // events that are not stored any more
  uint64_t withheld() const { return withheld_; }  // private events that were not sent
  // The refused events by the reason of the relay's OK.
  const ReasonCounts& refused() const { return refused_; }

 private:
  struct Offered {
    EventId id{};
    int tries = 0;
  };

  Status SendSome(const Say& say);
  bool MaySend(EventView event) const;

  const Read read_;
  const Limits limits_;
  const Clock& clock_;
  std::deque<Offered> waiting_;
  std::map<EventId, int> unanswered_;  // how often each was sent
  size_t most_unanswered_ = kMostUnanswered;
  Duration pause_ = kPause;
  TimePoint pause_until_{};
  uint64_t accepted_ = 0;
  uint64_t gone_ = 0;
  uint64_t withheld_ = 0;
  ReasonCounts refused_;
};

}  // namespace weir
