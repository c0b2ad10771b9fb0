// LiveIndex: finds the subscriptions that want an event by the event's fields, without asking them all.
//
//   index.Begin(event);
//   while (!index.Next(&left, &hits)) …        // tell the subscribers that were hit; let others run; refill `left`
//
// Every filter of a subscription is entered under the values of its most selective condition (ids, then a tag, then
// authors, then kinds, then "all"). An event looks up its id, its author, its kind and each of its tags, and only the
// filters found there are matched. The event's tags are hashed once, so a condition costs a look-up for each of its
// values, however many tags there are.
//
// Matching stops when `left` is spent, and the next call goes on there. Meanwhile subscriptions may leave, which are
// then not found any more, or enter, which may be found or not. Each is found at most once for an event.
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
  using Key = uint64_t;  // a subscription's, never used twice

  struct Hit {
    void* subscriber;
    bool by_query;  // one of the first `of_query` filters matches, too
  };

  LiveIndex();
  ~LiveIndex();

  // The filters' limits do not matter here. The first `of_query` filters are those of the subscription's query.
  Key Add(std::vector<Filter> filters, void* subscriber, size_t of_query = SIZE_MAX);
  void Remove(Key key);

  // Begins to match an event and gives up the one before. The caller keeps the event until it is done.
  void Begin(EventView event);
  // Adds subscribers that want the event to `hits`, in no order, and takes the cost from `left`, including a delivery
  // for each of them. Returns false if `left` is spent; there may be more then.
  bool Next(Work* left, std::vector<Hit>* hits);

  size_t size() const;
  // For visiting all subscribers: At returns the one in a place below `places()`, null if the place is free.
  size_t places() const;
  void* At(size_t place) const;

  // The most work that these filters add to each event.
  static Work MostWork(std::span<const Filter> filters);
  // Memory that the entries take, without the filters themselves.
  static uint64_t BytesOf(std::span<const Filter> filters);

 private:
  // Hidden, because Boost's small_vector would cost each of the many files that include this a third of a second.
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
