// Turns: items that wait for one thread or a few and are taken in turns by work (throttle/fair_turns.h). Groups
// (addresses) take turns by what their items cost, and within a group its parties (connections) do. So a flooder waits
// behind itself however many connections it has, and a client that brings little goes before those that bring much. The
// items of one party keep their order.
//
// Not thread-safe. Memory grows with the items that wait; callers of Push limit them by a window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

#include "relay/account/work.h"
#include "throttle/admission.h"
#include "throttle/fair_turns.h"

namespace weir {

// Lines that take turns. If memory runs out, nothing has changed and the item is still the caller's.
template <typename Item, typename Line, uint64_t (*kKeyOf)(const Party&)>
class LinesInTurns {
 public:
  bool empty() const { return places_.turns().empty(); }
  // The next item. Requires that one waits.
  const Item& Front() const { return places_.Next().line.Front(); }
  Work FrontWork() const { return places_.Next().line.FrontWork(); }
  // The number of lines that wait, whose popped item has not ended, or that are away and remembered.
  size_t lines() const { return places_.size(); }

  void Push(const Party& party, Item&& item, Work work) {
    Place& place = places_.Find(kKeyOf(party));
    place.line.Push(party, std::move(item), work);
    WaitOn(place);
  }

  // Takes the next item. Its turn lasts until End or PutBack.
  Item Pop() {
    Place& place = places_.Next();
    places_.turns().Begin(place, place.line.FrontWork());
    Item item = place.line.Pop();
    WaitOn(place);
    return item;
  }

  // Ends the turn of an item that was popped with `asked`. It was done or dropped, and cost `done`.
  void End(const Party& party, Work asked, Work done) {
    Place& place = places_.At(kKeyOf(party));
    place.line.End(party, asked, done);
    places_.End(place, asked, done);
  }

  // Puts back an item that was popped with `asked` and has cost `done`. It is the first of its party again.
  void PutBack(const Party& party, Item&& item, Work asked, Work done) {
    Place& place = places_.At(kKeyOf(party));
    place.line.PutBack(party, std::move(item), asked, done);
    places_.turns().End(place, asked, done);
    WaitOn(place);
  }

 private:
  struct Place : FairLine {
    uint64_t key = 0;
    Line line;
  };

  void WaitOn(Place& place) {
    if (!place.line.empty()) places_.turns().Wait(place, place.line.FrontWork());
  }

  FairLines<Place> places_;
};

// The items of one party, in its order.
template <typename Item>
class PartyLine {
 public:
  bool empty() const { return items_.empty(); }
  const Item& Front() const { return items_.front().first; }
  Work FrontWork() const { return items_.front().second; }
  void Push(const Party&, Item&& item, Work work) { items_.emplace_back(std::move(item), work); }
  Item Pop() {
    Item item = std::move(items_.front().first);
    items_.pop_front();
    return item;
  }
  void End(const Party&, Work, Work) {}
  void PutBack(const Party&, Item&& item, Work asked, Work) { items_.emplace_front(std::move(item), asked); }

 private:
  std::list<std::pair<Item, Work>> items_;
};

inline uint64_t PartyOf(const Party& party) { return party.id; }

// The items of one group, whose parties take turns.
template <typename Item>
using PartyTurns = LinesInTurns<Item, PartyLine<Item>, PartyOf>;

// The items of groups, where each group has one order.
template <typename Item>
using GroupTurns = LinesInTurns<Item, PartyLine<Item>, GroupOf>;

template <typename Item>
using Turns = LinesInTurns<Item, PartyTurns<Item>, GroupOf>;

}  // namespace weir
