// LiveIndex: finds the subscriptions that match a new event, without comparing the event with each of them.
//
//   index.Begin(event);
//   while (!index.Next(&left, &hits)) …        // send the event to the hits; let other tasks run; refill `left`
//
// For each filter the index has an entry for each value of the filter's most selective condition: its ids, else the tag
// condition with the fewest values, else its authors, else its kinds. A filter with none of these has one entry. For an
// event, the index looks up the entries of the event's id, author, kind and tags, and those of filters without such
// conditions. It compares the event only with the subscriptions that it finds there. It hashes the event's tags once,
// so matching a tag condition costs at most one look-up per value, however many tags the event has.
//
// `left` is the work (relay/account/work.h) that Next may still do. Next stops when `left` is 0, and the next call
// continues from there. Between two calls the caller may remove subscriptions, which Next then no longer finds, and may
// add subscriptions, which Next may or may not find. It finds each subscription at most once for an event.
//
// Threads: a LiveIndex belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"

namespace weir {

class LiveIndex {
 public:
  using Key = uint64_t;  // identifies a subscription; never 0 and never used twice

  // A subscription that matches the event.
  struct Hit {
    void* subscriber;
    bool by_query;  // true if one of the first `of_query` filters matches the event (see Add)
  };

  LiveIndex();
  ~LiveIndex();

  // Adds a subscription and returns its key. Ignores the filters' limits. `subscriber` is the pointer in Hit and the
  // result of At; it must not be null. `of_query` is the number of filters that the subscription's query of stored
  // events has; they come first in `filters`.
  Key Add(std::vector<Filter> filters, void* subscriber, size_t of_query = SIZE_MAX);
  // Removes a subscription; does nothing if no subscription has this key.
  void Remove(Key key);

  // Begins to match an event, and drops the previous event. The event's record must live until Next returns true.
  void Begin(EventView event);
  // Appends to `hits` subscriptions that match the event, in no particular order. Subtracts from `*left` its own work
  // and the work of a delivery to each of these subscriptions. Returns true if the event has been matched with all
  // subscriptions. Returns false if `*left` became 0 before that; the caller then calls Next again.
  bool Next(Work* left, std::vector<Hit>* hits);

  // Returns the number of subscriptions.
  size_t size() const;
  // The subscriptions are in places from 0 to places() - 1. At returns the subscriber in a place; null if it is free.
  size_t places() const;
  void* At(size_t place) const;

  // Returns the most work that a subscription with these filters adds to the matching and delivery of one event.
  static Work MostWork(std::span<const Filter> filters);
  // Returns the bytes of memory that a subscription with these filters takes in the index, without the filters.
  static uint64_t BytesOf(std::span<const Filter> filters);

 private:
  // Defined in the source file: many files include this header, and each would take a third of a second longer to
  // compile if the header included Boost's small_vector.
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
