// LiveIndex: finds the subscriptions that match a new event, without comparing the event with each of them.
//
//   index.Begin(event);
//   while (!index.Next(&left, &hits)) …        // send the event to the hits; let other tasks run; refill `left`
//
// The index has an entry for each value of a filter's most selective condition: its ids, else the tag condition with
// the fewest values, else its authors, else its kinds, else one entry for "all". For an event, the index looks up its
// id, its author, its kind and each of its tags, and matches only the filters that it finds there. It hashes the
// event's tags once, so a tag condition costs one look-up for each of its values, however many tags the event has.
//
// Next stops when `left` is spent, and the next call continues there. In between, the caller may remove subscriptions,
// which are then not found any more, and add subscriptions, which may or may not be found. Each subscription is found
// at most once for an event.
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
    bool by_query;  // one of the subscription's first `of_query` filters matches the event (see Add)
  };

  LiveIndex();
  ~LiveIndex();

  // Adds a subscription and returns its key. The filters' limits are ignored. `subscriber` is what Hit and At return;
  // it must not be null. The first `of_query` filters are those that the subscription's query of stored events has,
  // too.
  Key Add(std::vector<Filter> filters, void* subscriber, size_t of_query = SIZE_MAX);
  // Removes a subscription; does nothing if there is none with this key.
  void Remove(Key key);

  // Begins to match an event, and drops the one before. The event's record must stay alive until Next returns true.
  void Begin(EventView event);
  // Appends subscriptions that match the event to `hits`, in no order, and subtracts the work from `*left`, with the
  // work of a delivery to each of them. Returns true if the event has been matched with all subscriptions. Returns
  // false if `*left` was spent before: then call Next again.
  bool Next(Work* left, std::vector<Hit>* hits);

  // Returns the number of subscriptions.
  size_t size() const;
  // Visits all subscribers: At returns the subscriber in a place from 0 to places() - 1, or null if the place is free.
  size_t places() const;
  void* At(size_t place) const;

  // Returns the most work that these filters add to each event.
  static Work MostWork(std::span<const Filter> filters);
  // Returns the bytes of memory that the entries of these filters take, without the filters themselves.
  static uint64_t BytesOf(std::span<const Filter> filters);

 private:
  // Defined in the source file, because including Boost's small_vector would cost each of the many files that include
  // this header a third of a second.
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
