#include "throttle/limits/queued/ticket_line.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir {
namespace {

constexpr size_t kChildren = 4;  // the children of an entry of the heap, which are side by side in memory
constexpr size_t kLeastPlaces = 64;
constexpr int32_t kBeforeAll = std::numeric_limits<int32_t>::min();

}  // namespace

TicketLine::Place TicketLine::PlaceOf(uint32_t slot) const {
  const Ticket& ticket = tickets_[slot];
  if (ticket.passed_over >= kMostPassedOver) return {ticket.number, kBeforeAll, slot};
  switch (scheduler_) {
    case Scheduler::kLifo:
      return {~ticket.number, 0, slot};
    case Scheduler::kPriority:
      return {ticket.number, -ticket.priority, slot};
    default:
      return {ticket.number, 0, slot};
  }
}

void TicketLine::Put(size_t at, const Place& place) {
  places_[at] = place;
  tickets_[place.slot].place = static_cast<uint32_t>(at);
}

// Puts `place` into the heap, at the index `at`, which is free, or as far above or below as the order requires.
void TicketLine::Settle(size_t at, const Place& place) {
  while (at > 0 && place < places_[(at - 1) / kChildren]) {
    const size_t parent = (at - 1) / kChildren;
    Put(at, places_[parent]);
    at = parent;
  }
  for (;;) {
    const size_t first = at * kChildren + 1;
    if (first >= places_.size()) break;
    const size_t end = std::min(first + kChildren, places_.size());
    const auto child = std::min_element(places_.begin() + static_cast<ptrdiff_t>(first),
                                        places_.begin() + static_cast<ptrdiff_t>(end));
    if (!(*child < place)) break;
    Put(at, *child);
    at = static_cast<size_t>(child - places_.begin());
  }
  Put(at, place);
}

void TicketLine::Join(uint32_t slot) {
  tickets_[slot].line = number_;
  const Place place = PlaceOf(slot);
  places_.push_back(place);
  Settle(places_.size() - 1, place);
}

void TicketLine::Leave(uint32_t slot) {
  const size_t at = tickets_[slot].place;
  const Place last = places_.back();
  places_.pop_back();
  if (at < places_.size()) Settle(at, last);
  if (places_.capacity() > kLeastPlaces && places_.size() * 4 < places_.capacity()) places_.shrink_to_fit();
}

uint32_t TicketLine::Next() const {
  if (scheduler_ != Scheduler::kRandom || places_[0].key == kBeforeAll) return places_[0].slot;
  return places_[tickets_.RandomBelow(static_cast<uint32_t>(size()))].slot;
}

void TicketLine::SetScheduler(Scheduler scheduler) {
  if (scheduler == scheduler_) return;
  scheduler_ = scheduler;
  for (const Place& place : std::exchange(places_, {})) Join(place.slot);
}

}  // namespace weir
