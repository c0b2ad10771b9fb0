// TicketLine: stores waiting requests (tickets, see tickets.h) and chooses the next one by the scheduler: the oldest,
// the newest, one of the highest priority, or a random one. Any ticket may leave the line at any time.
//
// The line is a heap, and each ticket stores its place in the heap. So Join, Leave and Next take at most O(log n) steps
// with every scheduler.
//
// Threads: only one at a time may use a TicketLine.
#pragma once

#include <cstdint>
#include <vector>

#include "throttle/limits/queued/endpoint_config.h"
#include "throttle/limits/queued/tickets.h"

namespace weir {

class TicketLine {
 public:
  using Scheduler = EndpointConfig::Scheduler;
  // A ticket that was too large for the rest of this many windows (Ticket::passed_over) comes before all others.
  static constexpr uint8_t kMostPassedOver = 3;

  // `number` is the value of Ticket::line for the tickets of this line.
  TicketLine(Tickets& tickets, uint8_t number, Scheduler scheduler)
      : tickets_(tickets), number_(number), scheduler_(scheduler) {}

  bool empty() const { return places_.empty(); }
  size_t size() const { return places_.size(); }

  // Adds the ticket in that slot. REQUIRES: the ticket is in no line.
  void Join(uint32_t slot);
  // Removes the ticket in that slot. REQUIRES: the ticket is in this line.
  void Leave(uint32_t slot);
  // Returns the slot of the next ticket, which stays in the line. REQUIRES: the line is not empty. With kRandom, each
  // call chooses again.
  uint32_t Next() const;
  // Changes the scheduler, and sorts the tickets by it.
  void SetScheduler(Scheduler scheduler);

 private:
  // An entry of the heap. The entry with the lowest key is next; of entries with the same key, the one with the lowest
  // number.
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
