// EventFetch: gets events from another relay by their ids. It asks with a few REQs at a time, and asks again for what a
// relay with a lower limit has left out of an answer. If the relay closes a REQ, it waits, and then asks with half as
// many at a time.
//
//   fetch.Want(id);                        // …
//   fetch.AskMore(say);                    // again after each message
//   fetch.OnMessage(message, take)         // passes each event that was asked for to `take`
//
// The events are not checked: the caller checks ids and signatures.
//
// Threads: only one thread at a time may use an EventFetch.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/nostr/relay_message.h"

namespace weir {

class EventFetch {
 public:
  using Say = std::function<Status(std::string_view message)>;
  using Take = std::function<Status(std::string_view json)>;

  // Few relays refuse a REQ of this size.
  static constexpr size_t kIdsOfRequest = 250;
  static constexpr size_t kMostRequests = 8;
  static constexpr int kMostRefusals = 6;  // in a row
  static constexpr Duration kPause = std::chrono::seconds(1);

  explicit EventFetch(const Clock& clock = Clock::System()) : clock_(clock) {}

  void Want(const EventId& id) { wanted_.push_back(id); }
  // Sends REQs until as many are under way as the relay lets it have.
  Status AskMore(const Say& say);
  // Returns true if the message belongs to one of the REQs. Returns an error if the relay refuses one after the other.
  Result<bool> OnMessage(const RelayMessage& message, const Say& say, const Take& take);

  bool is_idle() const { return wanted_.empty() && requests_.empty(); }
  size_t waiting() const { return wanted_.size(); }
  uint64_t missing() const { return missing_; }  // events that the relay announced and does not give

 private:
  struct Request {
    std::set<EventId> open;   // not received yet
    bool asks_again = false;  // for the open ones, because an answer may have left them out
  };

  void EndRequest(std::map<std::string, Request>::iterator request);

  const Clock& clock_;
  std::deque<EventId> wanted_;
  std::map<std::string, Request> requests_;  // by subscription
  uint64_t asked_ = 0;                       // REQs so far
  uint64_t missing_ = 0;
  size_t most_requests_ = kMostRequests;
  int refusals_ = 0;  // since the last event
  TimePoint pause_until_{};
};

}  // namespace weir
