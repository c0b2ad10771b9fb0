// Endpoint: a queue, and what lets its requests through. Requests that find the queue full wait before it, if they may.
// With token_window, a request that does not fit into what is left of a window stands aside, and comes back with the
// next window.
//
// Threads: one at a time.
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

// Shared by the endpoints of a shard.
struct EndpointSurroundings {
  Tickets tickets;
  Bound& waiting;
  QueuedEvents* events;  // or null
  uint32_t shard;        // its number
  SharedCount served, rejected, waited, left;
};

class Endpoint {
 public:
  // Requests that one Serve handles at most; NextServe says whether there are more.
  static constexpr size_t kMostInGo = 1024;

  Endpoint(EndpointSurroundings& surroundings, std::string path, std::shared_ptr<const EndpointConfig> config,
           bool dynamic, TimePoint now);

  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller, TimePoint now);
  // Serves the requests in line for which there is room.
  void Serve(TimePoint now);
  void Leave(uint32_t slot, TimePoint now);
  void SetConfig(std::shared_ptr<const EndpointConfig> config, bool dynamic, TimePoint now);
  // Answers all requests in line with `code`.
  void AnswerAll(QueuedCode code, TimePoint now);

  const std::string& path() const { return *path_; }
  bool dynamic() const { return dynamic_; }
  bool somebody_waits() const { return in_line() > 0; }
  // Returns when the line is to be served; a request must be in it.
  TimePoint NextServe(TimePoint now) const;
  // When a request last came or was served.
  TimePoint last_used() const { return last_used_; }
  // Returns true if no request waits and a new endpoint would let through no more.
  bool CanEnd(TimePoint now);
  EndpointState State(TimePoint now);

 private:
  static constexpr uint8_t kBlocked = 2;  // the line before the queue

  TicketLine& queue() { return lines_[queue_]; }
  const TicketLine& queue() const { return lines_[queue_]; }
  TicketLine& aside() { return lines_[1 - queue_]; }
  const TicketLine& aside() const { return lines_[1 - queue_]; }
  size_t queued() const { return lines_[0].size() + lines_[1].size(); }
  size_t in_line() const { return queued() + lines_[kBlocked].size(); }
  bool counts_tokens() const { return config_->algorithm == EndpointConfig::Algorithm::kTokenWindow; }

  void Advance(TimePoint now);
  void BringBackThoseAside();
  void LetBlockedIn(TimePoint now);
  void Wait(const QueuedRequest& request, uint32_t cost, const std::shared_ptr<QueuedCaller>& caller, TimePoint now);
  // Takes the ticket out of the line in which it stands.
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
  std::array<TicketLine, 3> lines_;
  TimePoint line_since_{};  // since when requests are in line
  TimePoint last_used_;
  uint64_t tokens_in_line_ = 0;
  uint64_t served_ = 0;
  uint64_t rejected_ = 0;
  uint8_t queue_ = 0;  // which of the first two lines is the queue
  bool dynamic_;
};

}  // namespace weir
