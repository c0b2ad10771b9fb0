#include "throttle/fair_queue.h"

namespace weir {
namespace {

// Returns how many bytes are served before a new request of `bytes` bytes in a line in which `own` bytes already wait.
// Until then each of the `others` lines is served at most as much as this line, the new request included. `all_bytes`
// is the sum over all lines.
uint64_t Ahead(uint64_t own, uint64_t others, uint64_t all_bytes, uint64_t bytes) {
  // Divides instead of multiplying, because the product might overflow.
  if (others > 0 && own + bytes > (all_bytes - own) / others) return all_bytes;
  return own + others * (own + bytes);
}

// Makes a line wait with its next request.
void WaitWith(FairTurns& turns, FairLine& line, const Waiter& next) {
  turns.Wait(line, next.bytes, next.is_large ? FairTurns::Sort::kSecond : FairTurns::Sort::kFirst);
}

}  // namespace

void FairQueue::Push(Waiter& waiter) {
  GroupLine& group = groups_.Find(KeyOf(waiter.party));
  PartyLine& line = group.parties.Find(waiter.party.id);
  waiter.position = line.waiters.insert(line.waiters.end(), &waiter);
  line.bytes += waiter.bytes;
  group.bytes += waiter.bytes;
  bytes_ += waiter.bytes;
  ++size_;
  WaitWith(group.parties.turns(), line, *line.waiters.front());
  WaitOn(group);
}

void FairQueue::Remove(Waiter& waiter) {
  GroupLine& group = groups_.At(KeyOf(waiter.party));
  PartyLine& line = group.parties.At(waiter.party.id);
  const bool is_next_of_group = group.Head() == &waiter;
  const bool is_next_of_party = line.waiters.front() == &waiter;
  Unlink(waiter, group, line);
  if (line.waiters.empty()) {
    group.parties.GiveUp(line);
  } else if (is_next_of_party) {
    group.parties.turns().GiveUp(line);
    WaitWith(group.parties.turns(), line, *line.waiters.front());
  }
  if (group.Head() == nullptr) return groups_.GiveUp(group);
  if (is_next_of_group) groups_.turns().GiveUp(group);
  WaitOn(group);
}

void FairQueue::Pay(Waiter& waiter, uint64_t bytes) {
  waiter.paid += bytes;
  GroupLine& group = groups_.At(KeyOf(waiter.party));
  Subtract(bytes, group, group.parties.At(waiter.party.id));
  group.parties.turns().GoOn(bytes);
  groups_.turns().GoOn(bytes);
}

void FairQueue::PopServed(Waiter& served) {
  GroupLine& group = groups_.At(KeyOf(served.party));
  PartyLine& line = group.parties.At(served.party.id);
  const uint64_t bytes = served.bytes;
  Unlink(served, group, line);
  group.parties.turns().Begin(line, bytes);
  if (!line.waiters.empty()) WaitWith(group.parties.turns(), line, *line.waiters.front());
  group.parties.End(line, bytes, bytes, served.paid);
  groups_.turns().Begin(group, bytes);
  WaitOn(group);
  groups_.End(group, bytes, bytes, served.paid);
}

uint64_t FairQueue::BytesAhead(const Party& party, uint64_t bytes) const {
  const size_t groups = groups_.turns().waiting();
  const GroupLine* const group = groups_.Known(KeyOf(party));
  if (group == nullptr || group->Head() == nullptr) return Ahead(0, groups, bytes_, bytes);
  const PartyLine* const line = group->parties.Known(party.id);
  const bool waits = line != nullptr && !line->waiters.empty();
  const uint64_t own = waits ? line->bytes : 0;
  const uint64_t of_group = Ahead(own, group->parties.turns().waiting() - (waits ? 1 : 0), group->bytes, bytes);
  return Ahead(of_group, groups - 1, bytes_, bytes);
}

// Makes the group wait with its next request, if it has one.
void FairQueue::WaitOn(GroupLine& group) {
  if (const Waiter* head = group.Head()) WaitWith(groups_.turns(), group, *head);
}

void FairQueue::Unlink(Waiter& waiter, GroupLine& group, PartyLine& line) {
  line.waiters.erase(waiter.position);
  Subtract(waiter.bytes - waiter.paid, group, line);
  --size_;
}

void FairQueue::Subtract(uint64_t bytes, GroupLine& group, PartyLine& line) {
  line.bytes -= bytes;
  group.bytes -= bytes;
  bytes_ -= bytes;
}

}  // namespace weir
