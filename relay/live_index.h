// LiveIndex: the subscriptions of one I/O thread, found by what an event has, not by asking them all.
//
// Every filter of a subscription is entered under the values of its most selective condition (ids, then a tag, then
// authors, then kinds, then "all"); an event looks up its id, its author, its kind and each of its tags, and only what
// is found there is matched. One for each I/O thread, used on that thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"

namespace weir {

class LiveIndex {
 public:
  using Key = uint64_t;  // of a subscription, never used twice

  LiveIndex();
  ~LiveIndex();

  // The filters' limits do not matter here. `subscriber` is handed back by Match.
  Key Add(std::vector<Filter> filters, void* subscriber);
  void Remove(Key key);

  // Calls once for every subscription that wants the event, in no order. `on_match` may not add or remove. Returns how
  // many filters were looked at, which is what it costs.
  size_t Match(EventView event, const std::function<void(Key key, void* subscriber)>& on_match) const;

  size_t size() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
