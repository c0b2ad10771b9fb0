// Turns: what waits for one thread or a few, taken in turns. Groups (addresses) take turns, one item each, and within a
// group its parties (connections) do: a flooder waits behind itself however many connections it has. The items of one
// party keep their order.
//
// Not thread-safe. Memory grows with what waits; whoever pushes has a window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <utility>

#include "throttle/admission.h"

namespace weir {

// Lines in a ring, one item each in turn. A few empty ones are kept for those who come next: each has at least a
// deque's first block, half a kilobyte. Where memory fails, nothing has changed and the item is still the caller's.
template <typename Item, typename Line, uint64_t (*kKeyOf)(const Party&), size_t kSpare>
class TurnRing {
 public:
  bool empty() const { return ring_.empty(); }

  void Push(const Party& party, Item&& item) {
    Enter(party, [&](Line& line) { line.Push(party, std::move(item)); });
  }
  // It was taken and not used: it is the next again, or the first of its party after everybody else's turn.
  void PutBack(const Party& party, Item&& item, bool after_others) {
    const At place = Enter(party, [&](Line& line) { line.PutBack(party, std::move(item), after_others); });
    ring_.splice(after_others ? ring_.end() : ring_.begin(), ring_, place);
  }

  Item Pop() {
    const At place = ring_.begin();
    Item item = place->line.Pop();
    if (place->line.empty()) {
      Leave(place);
    } else {
      ring_.splice(ring_.end(), ring_, place);
    }
    return item;
  }

  const Item& Front() const { return ring_.front().line.Front(); }

 private:
  struct Place {
    uint64_t key = 0;
    Line line;
  };
  using At = typename std::list<Place>::iterator;

  template <typename Put>
  At Enter(const Party& party, Put put) {
    const uint64_t key = kKeyOf(party);
    if (const auto known = places_.find(key); known != places_.end()) {
      put(known->second->line);
      return known->second;
    }
    if (spare_.empty()) spare_.emplace_front();
    const At place = spare_.begin();
    place->key = key;
    places_.emplace(key, place);
    ring_.splice(ring_.end(), spare_, place);
    try {
      put(place->line);
    } catch (...) {
      Leave(place);
      throw;
    }
    return place;
  }

  void Leave(At place) {
    places_.erase(place->key);
    spare_.splice(spare_.begin(), ring_, place);
    if (spare_.size() > kSpare) spare_.pop_back();
  }

  std::list<Place> ring_;
  std::list<Place> spare_;
  std::unordered_map<uint64_t, At> places_;
};

template <typename Item>
class PartyLine {
 public:
  bool empty() const { return items_.empty(); }
  void Push(const Party&, Item&& item) { items_.push_back(std::move(item)); }
  void PutBack(const Party&, Item&& item, bool) { items_.push_front(std::move(item)); }
  Item Pop() {
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  const Item& Front() const { return items_.front(); }

 private:
  std::deque<Item> items_;
};

inline uint64_t PartyOf(const Party& party) { return party.id; }

template <typename Item>
using Turns = TurnRing<Item, TurnRing<Item, PartyLine<Item>, PartyOf, 2>, GroupOf, 64>;

}  // namespace weir
