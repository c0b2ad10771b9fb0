// LiveIndex: subscriptions, found by what an event has, not by asking them all.
//
//   index.Begin(event);
//   while (!index.Next(&left, &hits)) …        // tell those who were hit; have a rest; give it more to spend
//
// Every filter of a subscription is entered under the values of its most selective condition (ids, then a tag, then
// authors, then kinds, then "all"); an event looks up its id, its author, its kind and each of its tags, and only what
// is found there is matched. The event's tags are hashed once, so a condition costs a look-up for each of its values,
// however many tags there are.
//
// Matching stops when it has cost what it may, and goes on there. Meanwhile subscriptions may leave, and are not found
// any more, or enter, and may be found or not. Each is found once for an event.
//
// Used on one thread.
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
  using Key = uint64_t;  // of a subscription, never used twice

  struct Hit {
    void* subscriber;
    bool by_query;  // one of those filters matches that the subscription's query asks for, too
  };

  LiveIndex();
  ~LiveIndex();

  // The filters' limits do not matter here. The first `of_query` filters are those that the query asks for.
  Key Add(std::vector<Filter> filters, void* subscriber, size_t of_query = SIZE_MAX);
  void Remove(Key key);

  // The caller keeps the event until it is done with. What was begun before is given up.
  void Begin(EventView event);
  // Adds those who want the event to `hits`, in no order, and takes what it cost from `left`, a delivery for each of
  // them included. False: that is spent, and there may be more.
  bool Next(Work* left, std::vector<Hit>* hits);

  size_t size() const;
  // For going through all of them: the subscriber in a place below `places()`; null where it is free.
  size_t places() const;
  void* At(size_t place) const;

  // What an event costs at most because of a subscription.
  static Work MostWork(std::span<const Filter> filters);
  // Memory that the entries take, and not the filters themselves.
  static uint64_t BytesOf(std::span<const Filter> filters);

 private:
  // Apart: Boost's small_vector would cost each of the many that include this a third of a second.
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
