// Endpoint: the queue for one path of a QueuedLimiter, with the allowance that lets its requests through. While the
// queue is full, requests wait in a line before it, if the configuration allows that (kBlock). With token_window, a
// request that needs more tokens than the window has left stands aside until the next window, so that smaller ones can
// pass.
//
// Threads: only one at a time may use an Endpoint; Shards (by_name/shards.h) ensures that.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "config/bound.h"
#include "config/clock.h"
#include "throttle/by_name/shared_count.h"
#include "throttle/queued/allowance.h"
#include "throttle/queued/queued_limiter.h"
#include "throttle/queued/ticket_line.h"
#include "throttle/queued/tickets.h"

namespace weir {

// The objects that the endpoints of a shard share.
struct EndpointSurroundings {
  Tickets tickets;       // the tickets of all requests in line at these endpoints
  Bound& waiting;        // the room for requests in line at all endpoints of the limiter
  QueuedEvents* events;  // null: events are not kept
  uint32_t shard;        // the number of the shard
  SharedCount served, rejected, waited, left;
};

class Endpoint {
 public:
  // The most requests that one call of Serve handles. If more can be served, NextServe returns the present time.
  static constexpr size_t kMostInGo = 1024;

  // `dynamic` says that the path itself is not configured. The surroundings must outlive the endpoint.
  Endpoint(EndpointSurroundings& surroundings, std::string path, std::shared_ptr<const EndpointConfig> config,
           bool dynamic, TimePoint now);

  // Decides on a request; does what QueuedLimiter::Take says.
  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller, TimePoint now);
  // Serves the requests in line that may pass now.
  void Serve(TimePoint now);
  // Takes the ticket in that slot out of line without an answer. It must be a ticket of this endpoint.
  void Leave(uint32_t slot, TimePoint now);
  void SetConfig(std::shared_ptr<const EndpointConfig> config, bool dynamic, TimePoint now);
  // Answers all requests in line with `code`, except those whose caller no longer waits (QueuedCaller::StillWaits).
  void AnswerAll(QueuedCode code, TimePoint now);

  const std::string& path() const { return *path_; }
  bool dynamic() const { return dynamic_; }
  bool somebody_waits() const { return in_line() > 0; }
  // Returns when Serve has to be called. At least one request must be in line.
  TimePoint NextServe(TimePoint now) const;
  // Returns when a request last came or was served.
  TimePoint last_used() const { return last_used_; }
  // Returns true if the endpoint may be removed: no request waits, and a new endpoint in its place would not let more
  // through.
  bool CanEnd(TimePoint now);
  EndpointState State(TimePoint now);

 private:
  static constexpr uint8_t kBlocked = 2;  // the number of the line before the queue

  TicketLine& queue() { return lines_[queue_]; }
  const TicketLine& queue() const { return lines_[queue_]; }
  TicketLine& aside() { return lines_[1 - queue_]; }
  const TicketLine& aside() const { return lines_[1 - queue_]; }
  size_t queued() const { return lines_[0].size() + lines_[1].size(); }
  size_t in_line() const { return queued() + lines_[kBlocked].size(); }
  bool counts_tokens() const { return config_->algorithm == EndpointConfig::Algorithm::kTokenWindow; }

  void Advance(TimePoint now);
  // Moves the requests that stand aside back into the queue.
  void BringBackThoseAside();
  // Moves requests from the line before the queue into the queue while there is room.
  void LetBlockedIn(TimePoint now);
  void Wait(const QueuedRequest& request, uint32_t cost, const std::shared_ptr<QueuedCaller>& caller, TimePoint now);
  // Takes a ticket out of the line in which it stands, frees its slot and returns it.
  Ticket TakeOut(uint32_t slot);
  void ServeTicket(uint32_t slot, TimePoint now);
  void RejectTicket(uint32_t slot, QueuedCode code, TimePoint now);
  bool StillWaits(const Ticket& ticket);
  Duration PredictedWait() const;
  Duration UntilRoom(TimePoint now) const;

  void AnswerServed(QueuedCaller& caller, uint32_t cost, Duration waited, TimePoint now);
  void AnswerRejected(QueuedCaller& caller, QueuedCode code, Duration waited, Duration retry_after, TimePoint now);
  QueuedAnswer AnswerOf(QueuedCode code, TimePoint now) const;
  void Tell(QueuedEvent::Kind kind, Duration waited, TimePoint now);

  EndpointSurroundings& surroundings_;
  std::shared_ptr<const std::string> path_;
  std::shared_ptr<const EndpointConfig> config_;
  Allowance allowance_;
  std::array<TicketLine, 3> lines_;  // the queue, the requests that stand aside, and those before the queue
  TimePoint line_since_{};           // the time since which there was always a request in line
  TimePoint last_used_;
  uint64_t tokens_in_line_ = 0;  // the cost of all requests in line
  uint64_t served_ = 0;
  uint64_t rejected_ = 0;
  uint8_t queue_ = 0;  // which of the first two lines is the queue; in the other, requests stand aside
  bool dynamic_;
};

}  // namespace weir
