// TicketLine: the tickets that wait, and which of them is next: the first, the last, the most urgent, or any. Any
// ticket may leave.
//
// It is a heap in which each ticket knows its place: to join, to leave and to be next take O(log n) by every scheduler.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "throttle/queued/endpoint_config.h"
#include "throttle/queued/tickets.h"

namespace weir {

class TicketLine {
 public:
  using Scheduler = EndpointConfig::Scheduler;
  // A ticket that did not fit in so many windows comes before all others.
  static constexpr uint8_t kMostPassedOver = 3;

  // `number` is what its tickets have as `line`.
  TicketLine(Tickets& tickets, uint8_t number, Scheduler scheduler)
      : tickets_(tickets), number_(number), scheduler_(scheduler) {}

  bool empty() const { return places_.empty(); }
  size_t size() const { return places_.size(); }

  void Join(uint32_t slot);
  void Leave(uint32_t slot);
  // Returns the slot of the next ticket, which stays in line; there must be one. A random line picks anew in each call.
  uint32_t Next() const;
  void SetScheduler(Scheduler scheduler);

 private:
  // The place with the lesser key is next; among equal keys, the one with the lesser number.
  struct Place {
    uint64_t number;
    int32_t key;
    uint32_t slot;
    bool operator<(const Place& other) const { return key != other.key ? key < other.key : number < other.number; }
  };

  Place PlaceOf(uint32_t slot) const;
  void Put(size_t at, const Place& place);
  void Settle(size_t at, const Place& place);

  Tickets& tickets_;
  std::vector<Place> places_;
  uint8_t number_;
  Scheduler scheduler_;
};

}  // namespace weir
