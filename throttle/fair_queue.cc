#include "throttle/fair_queue.h"

#include <algorithm>

namespace weir {
namespace {

// Every other line is served at most as much as this one until the newcomer is done.
uint64_t Ahead(uint64_t own, uint64_t others, uint64_t all_bytes, uint64_t bytes) {
  // Divided rather than multiplied: the product may not fit.
  if (others > 0 && own + bytes > (all_bytes - own) / others) return all_bytes;
  return own + others * (own + bytes);
}

}  // namespace

template <typename L>
void FairQueue::Turns<L>::Join(L& line) {
  line.served = now_;
  line.done = now_ + line.Head()->bytes;
  line.number = ++joined_;
  order_.insert(&line);
}

template <typename L>
void FairQueue::Turns<L>::Leave(L& line) {
  order_.erase(&line);
}

template <typename L>
void FairQueue::Turns<L>::Update(L& line) {
  const uint64_t done = line.served + line.Head()->bytes;
  if (done == line.done) return;
  order_.erase(&line);
  line.done = done;
  order_.insert(&line);
}

template <typename L>
void FairQueue::Turns<L>::Served(L& line) {
  order_.erase(&line);
  // A group may be behind the others where a smaller request of it came before the one that it saved for.
  now_ = std::max(now_, line.done);
  line.served = line.done;
  line.number = ++joined_;
  order_.insert(&line);
}

void FairQueue::Push(Waiter& waiter) {
  const auto [group_entry, is_new_group] =
      GroupsOf(waiter.party).try_emplace(GroupOf(waiter.party), GroupOf(waiter.party));
  GroupLine& group = group_entry->second;
  const auto [entry, is_new] = group.parties.try_emplace(waiter.party.id, waiter.party.id);
  PartyLine& line = entry->second;
  waiter.position = line.waiters.insert(line.waiters.end(), &waiter);
  if (is_new) group.turns.Join(line);
  if (is_new_group) {
    turns_.Join(group);
  } else {
    turns_.Update(group);
  }
  line.bytes += waiter.bytes;
  group.bytes += waiter.bytes;
  bytes_ += waiter.bytes;
  ++size_;
}

void FairQueue::Remove(Waiter& waiter) {
  GroupLine& group = GroupsOf(waiter.party).find(GroupOf(waiter.party))->second;
  PartyLine& line = group.parties.find(waiter.party.id)->second;
  if (group.Head() == &waiter) turns_.Forfeit(group);
  if (line.Head() == &waiter) group.turns.Forfeit(line);
  Unlink(waiter);
}

void FairQueue::PopServed() {
  GroupLine& group = turns_.First();
  PartyLine& line = group.turns.First();
  Waiter* head = line.Head();
  turns_.Served(group);
  group.turns.Served(line);
  Unlink(*head);
}

uint64_t FairQueue::BytesAhead(const Party& party, uint64_t bytes) const {
  const Groups& groups = party.group == 0 ? loners_ : groups_;
  const size_t lines = loners_.size() + groups_.size();
  const auto found = groups.find(GroupOf(party));
  if (found == groups.end()) return Ahead(0, lines, bytes_, bytes);
  const GroupLine& group = found->second;
  const auto line = group.parties.find(party.id);
  const bool is_new = line == group.parties.end();
  const uint64_t own = is_new ? 0 : line->second.bytes;
  const uint64_t of_group = Ahead(own, group.parties.size() - (is_new ? 0 : 1), group.bytes, bytes);
  return Ahead(of_group, lines - 1, bytes_, bytes);
}

void FairQueue::Unlink(Waiter& waiter) {
  Groups& groups = GroupsOf(waiter.party);
  const auto group_entry = groups.find(GroupOf(waiter.party));
  GroupLine& group = group_entry->second;
  const auto entry = group.parties.find(waiter.party.id);
  PartyLine& line = entry->second;
  line.waiters.erase(waiter.position);
  line.bytes -= waiter.bytes;
  group.bytes -= waiter.bytes;
  bytes_ -= waiter.bytes;
  --size_;
  if (!line.waiters.empty()) {
    group.turns.Update(line);
  } else {
    group.turns.Leave(line);
    group.parties.erase(entry);
  }
  if (!group.parties.empty()) {
    turns_.Update(group);
  } else {
    turns_.Leave(group);
    groups.erase(group_entry);
  }
  if (size_ == 0) turns_ = {};  // time starts anew
}

}  // namespace weir
