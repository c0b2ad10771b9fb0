// Turns: a queue of items from many clients, for one thread or a few that work on them. Groups (client addresses) take
// turns by the work that their items cost, and so do the parties (connections) within a group (throttle/fair_turns.h).
// So a client that floods the queue waits behind its own items, however many connections it has, and a client with
// little work goes before clients with much. The items of one party keep their order.
//
//   turns.Push(party, std::move(item), expected);    // `expected`: the work that the item will probably cost
//   Item item = turns.Pop();                         // the item's turn begins
//   turns.End(party, expected, done);                // the item's turn ends; `done`: the work that it has cost
//
// Not thread-safe. Memory grows with the number of waiting items; the code that pushes must limit this number, for
// example by the window of events that a connection may have in flight (relay/protocol/event_window.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

#include "relay/account/work.h"
#include "throttle/admission.h"
#include "throttle/fair_turns.h"

namespace weir {

// LinesInTurns: the queue behind Turns, PartyTurns and GroupTurns. It has one Line of items for each key. kKeyOf
// returns the key of the line that a party's items enter: one line for each connection (PartyOf), or one for each
// address (GroupOf). A Line has the functions of PartyLine; it may itself be a LinesInTurns. If memory runs out in a
// function that takes an item, the function throws, and the caller still has the item.
template <typename Item, typename Line, uint64_t (*kKeyOf)(const Party&)>
class LinesInTurns {
 public:
  bool empty() const { return places_.turns().empty(); }
  // Returns the next item. REQUIRES: the queue is not empty.
  const Item& Front() const { return places_.Next().line.Front(); }
  // Returns the expected work of the next item, as passed to Push or PutBack. REQUIRES: the queue is not empty.
  Work FrontWork() const { return places_.Next().line.FrontWork(); }
  // Returns the number of lines: lines with waiting items, lines with an item whose turn has not ended, and empty lines
  // that are remembered for a while because of the work that their items have cost (throttle/fair_turns.h).
  size_t lines() const { return places_.size(); }

  // Adds an item behind the other items of its party. `work` is the work that the item will probably cost.
  void Push(const Party& party, Item&& item, Work work) {
    Place& place = places_.Find(kKeyOf(party));
    place.line.Push(party, std::move(item), work);
    WaitOn(place);
  }

  // Removes the next item and returns it. REQUIRES: the queue is not empty. The item's turn lasts until the caller
  // calls End or PutBack for it. Several items may have their turns at the same time.
  Item Pop() {
    Place& place = places_.Next();
    places_.turns().Begin(place, place.line.FrontWork());
    Item item = place.line.Pop();
    WaitOn(place);
    return item;
  }

  // Ends the turn of a popped item that needs no further turn. `asked` is the work with which the item was pushed;
  // `done` is the work that its turn has cost.
  void End(const Party& party, Work asked, Work done) {
    Place& place = places_.At(kKeyOf(party));
    place.line.End(party, asked, done);
    places_.End(place, asked, done);
  }

  // Ends the turn of a popped item and puts the item back, as the first of its party. `asked` is the work with which
  // the item was pushed; it is also the expected work of the next turn. `done` is the work that this turn has cost.
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

// PartyLine: a Line without turns. Pop returns an item that was put back first, and the others in the order of Push.
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

// PartyTurns: the items of one group, whose parties take turns.
template <typename Item>
using PartyTurns = LinesInTurns<Item, PartyLine<Item>, PartyOf>;

// GroupTurns: the items of groups that take turns. The items of one group keep their order, whatever their parties.
template <typename Item>
using GroupTurns = LinesInTurns<Item, PartyLine<Item>, GroupOf>;

// Turns: the items of groups that take turns; within each group, the parties take turns.
template <typename Item>
using Turns = LinesInTurns<Item, PartyTurns<Item>, GroupOf>;

}  // namespace weir
