// Endpoint: the endpoint of one path of a QueuedLimiter. It has a queue of waiting requests, and an allowance
// (allowance.h), which says when the next request may pass. If the configuration says kBlock, requests that find the
// queue full wait outside it, in a line of their own; else the endpoint refuses them. With token_window, a request that
// costs more tokens than the window has left waits aside until the next window, so that cheaper requests can pass.
//
// Threads: only one at a time may use an Endpoint. Shards (by_name/shards.h) ensures that.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "config/bound.h"
#include "config/clock.h"
#include "throttle/limits/by_name/shared_count.h"
#include "throttle/limits/queued/allowance.h"
#include "throttle/limits/queued/queued_limiter.h"
#include "throttle/limits/queued/ticket_line.h"
#include "throttle/limits/queued/tickets.h"

namespace weir {

// The objects that the endpoints of a shard share.
struct EndpointSurroundings {
  Tickets tickets;       // the waiting requests of all these endpoints
  Bound& waiting;        // bounds the number of waiting requests at all endpoints of the limiter
  QueuedEvents* events;  // null: nothing records events
  uint32_t shard;        // the number of the shard
  SharedCount served, rejected, waited, left;
};

class Endpoint {
 public:
  // The most requests that one call of Serve handles. If more can pass, NextServe returns the present time.
  static constexpr size_t kMostInGo = 1024;

  // `dynamic` is true if the path itself is not configured. `surroundings` must outlive the endpoint.
  Endpoint(EndpointSurroundings& surroundings, std::string path, std::shared_ptr<const EndpointConfig> config,
           bool dynamic, TimePoint now);

  // Decides on a request, as described at QueuedLimiter::Take.
  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller, TimePoint now);
  // Serves the waiting requests that may pass now.
  void Serve(TimePoint now);
  // Removes a waiting request without an answer. `slot` is the slot of its ticket (tickets.h), which has to be a ticket
  // of this endpoint. Other requests may then pass.
  void Leave(uint32_t slot, TimePoint now);
  void SetConfig(std::shared_ptr<const EndpointConfig> config, bool dynamic, TimePoint now);
  // Removes all waiting requests, and answers them with `code`, except those whose caller has stopped waiting
  // (QueuedCaller::StillWaits).
  void AnswerAll(QueuedCode code, TimePoint now);

  const std::string& path() const { return *path_; }
  bool dynamic() const { return dynamic_; }
  bool somebody_waits() const { return in_line() > 0; }
  // Returns the time at which Serve has to be called. REQUIRES: at least one request waits.
  TimePoint NextServe(TimePoint now) const;
  // Returns the time at which a request last arrived or was served.
  TimePoint last_used() const { return last_used_; }
  // Returns true if the endpoint may be removed: no request waits, and a new endpoint for the path would not let more
  // requests pass than this one.
  bool CanEnd(TimePoint now);
  EndpointState State(TimePoint now);

 private:
  static constexpr uint8_t kBlocked = 2;  // the index in lines_ of the line outside the queue

  TicketLine& queue() { return lines_[queue_]; }
  const TicketLine& queue() const { return lines_[queue_]; }
  TicketLine& aside() { return lines_[1 - queue_]; }
  const TicketLine& aside() const { return lines_[1 - queue_]; }
  size_t queued() const { return lines_[0].size() + lines_[1].size(); }
  size_t in_line() const { return queued() + lines_[kBlocked].size(); }
  bool counts_tokens() const { return config_->algorithm == EndpointConfig::Algorithm::kTokenWindow; }
  // Returns the cost of a request that states `tokens`, by the present configuration.
  uint32_t CostOf(uint32_t tokens) const { return tokens > 0 ? tokens : config_->default_tokens; }

  void Advance(TimePoint now);
  // Moves the requests that wait aside back into the queue.
  void BringBackThoseAside();
  // Moves requests from the line outside into the queue while the queue has room.
  void LetBlockedIn(TimePoint now);
  void Wait(const QueuedRequest& request, uint32_t tokens, const std::shared_ptr<QueuedCaller>& caller, TimePoint now);
  // Removes a ticket from its line, frees its slot, and returns the ticket.
  Ticket TakeOut(uint32_t slot);
  void ServeTicket(uint32_t slot, TimePoint now);
  void RejectTicket(uint32_t slot, QueuedCode code, TimePoint now);
  bool StillWaits(const Ticket& ticket);
  Duration PredictedWait(uint32_t cost, TimePoint now) const;
  Duration UntilRoom(TimePoint now) const;

  void AnswerServed(QueuedCaller& caller, uint32_t cost, Duration waited, TimePoint now);
  void AnswerRejected(QueuedCaller& caller, QueuedCode code, Duration waited, Duration retry_after, TimePoint now);
  QueuedAnswer AnswerOf(QueuedCode code, TimePoint now) const;
  void Tell(QueuedEvent::Kind kind, Duration waited, TimePoint now);

  EndpointSurroundings& surroundings_;
  std::shared_ptr<const std::string> path_;
  std::shared_ptr<const EndpointConfig> config_;
  Allowance allowance_;
  std::array<TicketLine, 3> lines_;  // the queue, the requests that wait aside, and those that wait outside the queue
  TimePoint line_since_{};           // since when at least one request has always waited; valid while one waits
  TimePoint last_used_;
  uint64_t tokens_in_line_ = 0;  // the tokens that all waiting requests state, together
  uint64_t served_ = 0;
  uint64_t rejected_ = 0;
  uint32_t without_tokens_ = 0;  // the waiting requests that state no tokens
  uint8_t queue_ = 0;  // the index of the queue in lines_: 0 or 1; the requests in the other of these two wait aside
  bool dynamic_;
};

}  // namespace weir
