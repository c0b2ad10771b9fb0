#include "throttle/fair_queue.h"

#include <algorithm>
#include <iterator>

namespace weir {
namespace {

// Small requests of one party go together up to this; below it the round would cost more than it evens out.
constexpr uint64_t kSmallestQuantumBytes = 4096;

// Every other line is served at most as much as this one, and a quantum for the round under way.
uint64_t Ahead(uint64_t own, uint64_t others, uint64_t all_bytes, uint64_t quantum) {
  // Divided rather than multiplied: the product may not fit.
  if (others > 0 && own + quantum > (all_bytes - own) / others) return all_bytes;
  return own + others * (own + quantum);
}

}  // namespace

// A newcomer takes its place behind the others of this round.
template <typename Line>
auto FairQueue::Round<Line>::Join(uint64_t id) -> Place {
  const Place line = ring.emplace(turn, id);
  if (ring.size() == 1) turn = line;
  return line;
}

template <typename Line>
void FairQueue::Round<Line>::Leave(Place line) {
  if (line == turn) Advance();
  const bool last = turn == line;
  ring.erase(line);
  if (last) turn = ring.end();
}

template <typename Line>
void FairQueue::Round<Line>::Advance() {
  turn->visited = false;
  if (++turn == ring.end()) turn = ring.begin();
}

template <typename Line>
Waiter* FairQueue::Round<Line>::Front(uint64_t quantum) {
  while (true) {
    if (!turn->visited) {
      turn->visited = true;
      turn->deficit += quantum;
    }
    Waiter* head = turn->Head(quantum);
    if (turn->deficit >= head->bytes) return head;
    Advance();
  }
}

void FairQueue::Push(Waiter& waiter) {
  if (size_ == 0) quantum_ = kSmallestQuantumBytes;
  quantum_ = std::max(quantum_, waiter.bytes);
  const auto [group_entry, is_new_group] = GroupsOf(waiter.party).try_emplace(KeyOf(waiter.party));
  if (is_new_group) group_entry->second = round_.Join(group_entry->first);
  GroupLine& group = *group_entry->second;
  const auto [entry, is_new] = group.places.try_emplace(waiter.party.id);
  if (is_new) entry->second = group.parties.Join(waiter.party.id);
  PartyLine& line = *entry->second;
  waiter.position = line.waiters.insert(line.waiters.end(), &waiter);
  line.bytes += waiter.bytes;
  group.bytes += waiter.bytes;
  bytes_ += waiter.bytes;
  ++size_;
}

void FairQueue::Remove(Waiter& waiter) { Unlink(waiter); }

Waiter* FairQueue::Front() { return size_ == 0 ? nullptr : round_.Front(quantum_); }

void FairQueue::PopServed() {
  Waiter* head = Front();
  round_.turn->deficit -= head->bytes;
  round_.turn->parties.turn->deficit -= head->bytes;
  Unlink(*head);
}

uint64_t FairQueue::BytesAhead(const Party& party) const {
  const Groups& groups = party.group == 0 ? loners_ : groups_;
  const auto found = groups.find(KeyOf(party));
  if (found == groups.end()) return Ahead(0, round_.ring.size(), bytes_, quantum_);
  const GroupLine& group = *found->second;
  const auto line = group.places.find(party.id);
  const bool is_new = line == group.places.end();
  const uint64_t own = is_new ? 0 : line->second->bytes;
  const uint64_t of_group = Ahead(own, group.places.size() - (is_new ? 0 : 1), group.bytes, quantum_);
  return Ahead(of_group, round_.ring.size() - 1, bytes_, quantum_);
}

void FairQueue::Unlink(Waiter& waiter) {
  Groups& groups = GroupsOf(waiter.party);
  const auto group_entry = groups.find(KeyOf(waiter.party));
  GroupLine& group = *group_entry->second;
  const auto entry = group.places.find(waiter.party.id);
  PartyLine& line = *entry->second;
  line.waiters.erase(waiter.position);
  line.bytes -= waiter.bytes;
  group.bytes -= waiter.bytes;
  bytes_ -= waiter.bytes;
  --size_;
  if (!line.waiters.empty()) return;
  group.parties.Leave(entry->second);
  group.places.erase(entry);
  if (!group.places.empty()) return;
  round_.Leave(group_entry->second);
  groups.erase(group_entry);
}

}  // namespace weir
