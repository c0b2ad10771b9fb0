#include "throttle/fair_queue.h"

#include <algorithm>

namespace weir {
namespace {

// Small requests of one party go together up to this; below it the round would cost more than it evens out.
constexpr uint64_t kSmallestQuantumBytes = 4096;

}  // namespace

void FairQueue::Push(Waiter& waiter) {
  if (size_ == 0) quantum_ = kSmallestQuantumBytes;
  quantum_ = std::max(quantum_, waiter.bytes);
  auto [entry, is_new] = lines_.try_emplace(waiter.party.id);
  if (is_new) {
    // A newcomer takes its place behind the others of this round.
    entry->second = ring_.insert(turn_, PartyLine(waiter.party.id));
    if (ring_.size() == 1) turn_ = ring_.begin();
  }
  PartyLine& line = *entry->second;
  waiter.position = line.waiters.insert(line.waiters.end(), &waiter);
  line.bytes += waiter.bytes;
  bytes_ += waiter.bytes;
  ++size_;
}

void FairQueue::Remove(Waiter& waiter) { Unlink(lines_.at(waiter.party.id), waiter); }

Waiter* FairQueue::Front() {
  if (size_ == 0) return nullptr;
  while (true) {
    PartyLine& line = *turn_;
    if (!line.visited) {
      line.visited = true;
      line.deficit += quantum_;
    }
    Waiter* head = line.waiters.front();
    if (line.deficit >= head->bytes) return head;
    Advance();
  }
}

void FairQueue::PopServed() {
  Waiter* head = Front();
  turn_->deficit -= head->bytes;
  Unlink(turn_, *head);
}

uint64_t FairQueue::BytesAhead(uint64_t party) const {
  const auto found = lines_.find(party);
  const uint64_t own = found == lines_.end() ? 0 : found->second->bytes;
  // Every other party is served at most as much as this one, and a quantum for the round under way.
  const uint64_t others = lines_.size() - (found == lines_.end() ? 0 : 1);
  // Divided rather than multiplied: the product may not fit.
  if (others > 0 && own + quantum_ > (bytes_ - own) / others) return bytes_;
  return own + others * (own + quantum_);
}

void FairQueue::Unlink(Ring::iterator line, Waiter& waiter) {
  line->waiters.erase(waiter.position);
  line->bytes -= waiter.bytes;
  bytes_ -= waiter.bytes;
  --size_;
  if (!line->waiters.empty()) return;
  if (line == turn_) Advance();
  const bool last = turn_ == line;
  lines_.erase(line->party);
  ring_.erase(line);
  if (last) turn_ = ring_.end();
}

void FairQueue::Advance() {
  turn_->visited = false;
  if (++turn_ == ring_.end()) turn_ = ring_.begin();
}

}  // namespace weir
