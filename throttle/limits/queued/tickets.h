// Tickets: stores the requests that wait at the endpoints of a shard. Each is in a slot, which has a number. Finding,
// adding and removing a ticket take constant time.
//
// Threads: only one at a time may use the Tickets.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>

#include "config/clock.h"

namespace weir {

class Endpoint;
class QueuedCaller;

// A request that waits at an endpoint.
struct Ticket {
  std::shared_ptr<QueuedCaller> caller;
  Endpoint* endpoint = nullptr;
  uint64_t number = 0;  // greater than the numbers of all earlier tickets; 0: the slot is free
  TimePoint since{};    // when the request began to wait
  uint32_t tokens = 0;  // the tokens that the request states; 0: it states none
  int32_t priority = 0;
  uint32_t place = 0;       // its index in its TicketLine; if the slot is free: the number of the next free slot
  uint8_t line = 0;         // which of the endpoint's lines it is in
  uint8_t passed_over = 0;  // how many windows had too few tokens left for it, at most TicketLine::kMostPassedOver
};

class Tickets {
 public:
  // Adds a ticket, sets its number, and returns its slot.
  uint32_t Add(Ticket ticket) {
    if (first_free_ == kNone) {
      first_free_ = static_cast<uint32_t>(tickets_.size());
      tickets_.push_back({.place = kNone});
    }
    const uint32_t slot = first_free_;
    first_free_ = tickets_[slot].place;
    ticket.number = next_number_++;
    tickets_[slot] = std::move(ticket);
    ++held_;
    return slot;
  }
  // Removes the ticket in that slot. REQUIRES: the slot is in use.
  void Remove(uint32_t slot) {
    tickets_[slot] = {.place = first_free_};
    first_free_ = slot;
    if (--held_ > 0 || tickets_.size() <= kMostKeptFree) return;
    tickets_ = {};
    first_free_ = kNone;
  }

  // Returns the ticket in that slot.
  Ticket& operator[](uint32_t slot) { return tickets_[slot]; }
  // Returns true if the slot holds the ticket with that number.
  bool Has(uint32_t slot, uint64_t number) const {
    return number != 0 && slot < tickets_.size() && tickets_[slot].number == number;
  }
  // Returns a random number from 0 to end - 1. REQUIRES: `end` is above 0.
  uint32_t RandomBelow(uint32_t end) { return std::uniform_int_distribution<uint32_t>(0, end - 1)(random_); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMostKeptFree = 1024;

  std::deque<Ticket> tickets_;
  uint32_t first_free_ = kNone;
  size_t held_ = 0;
  uint64_t next_number_ = 1;
  std::minstd_rand random_{std::random_device()()};
};

}  // namespace weir
