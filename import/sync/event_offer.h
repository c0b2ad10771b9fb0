// EventOffer: sends stored events to another relay as EVENT messages, a bounded number at a time, and counts its
// answers. An event that the relay refuses as "rate-limited" is sent again a second later, at most kMostTries times.
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

#include "config/clock.h"
#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/nostr/relay_message.h"

namespace weir {

class EventOffer {
 public:
  using Say = std::function<Status(std::string_view message)>;
  // Calls `take` with the stored events that have these ids.
  using Read = std::function<Status(std::span<const EventId> ids, const std::function<void(EventView event)>& take)>;

  static constexpr size_t kMostUnanswered = 256;
  static constexpr int kMostTries = 5;
  static constexpr Duration kPause = std::chrono::seconds(1);
  static constexpr size_t kMostReasons = 100;

  explicit EventOffer(Read read, const Clock& clock = Clock::System()) : read_(std::move(read)), clock_(clock) {}

  void Offer(const EventId& id) { waiting_.push_back({id, 0}); }
  // Sends events until kMostUnanswered have no answer.
  Status SendMore(const Say& say);
  // Returns true if the message answers one of the events.
  bool OnMessage(const RelayMessage& message);

  bool is_idle() const { return waiting_.empty() && unanswered_.empty(); }
  size_t waiting() const { return waiting_.size(); }
  uint64_t accepted() const { return accepted_; }
  uint64_t gone() const { return gone_; }  // events that were deleted here meanwhile
  // The refused events by the reason of the relay's OK; beyond kMostReasons, "other reasons".
  const std::map<std::string, uint64_t>& refused() const { return refused_; }

 private:
  struct Offered {
    EventId id{};
    int tries = 0;
  };

  const Read read_;
  const Clock& clock_;
  std::deque<Offered> waiting_;
  std::map<EventId, int> unanswered_;  // how often each was sent
  TimePoint pause_until_{};
  uint64_t accepted_ = 0;
  uint64_t gone_ = 0;
  std::map<std::string, uint64_t> refused_;
};

}  // namespace weir
