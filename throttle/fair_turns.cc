#include "throttle/fair_turns.h"

#include <algorithm>
#include <utility>

namespace weir {

void FairTurns::Add(FairLine& line, uint64_t position) {
  line.had_ = std::min(position, now_);
  line.due_ = static_cast<int64_t>(line.had_);
  line.number_ = ++last_number_;
  line.place_ = kAway;
  places_[kAway].insert(&line);
}

void FairTurns::Remove(FairLine& line) {
  ReturnLead(line);
  places_[line.place_].erase(&line);
}

void FairTurns::Wait(FairLine& line, uint64_t asks, Sort sort) {
  uint64_t number = line.number_;
  if (!IsWaiting(line)) {
    if (line.place_ == kAway && line.had_ < now_) {
      line.credit_ = std::min(most_credit_, line.credit_ + (now_ - line.had_));
      line.had_ = now_;
    }
    line.ahead_ = ahead_;
    number = ++last_number_;
  }
  ReturnLead(line);
  line.asks_ = asks;
  line.lead_ = std::min({line.credit_, may_be_free_, asks});
  line.credit_ -= line.lead_;
  may_be_free_ -= line.lead_;
  Put(line, sort == Sort::kFirst ? kWaits : kWaitsInSecond, Rank(line), number);
}

void FairTurns::ReturnLead(FairLine& line) {
  line.credit_ += line.lead_;
  MayBeFree(line.lead_);
  line.lead_ = 0;
}

void FairTurns::GiveUp(FairLine& line) {
  ReturnLead(line);
  const Place place = line.served_ > 0 ? kServed : kAway;
  Put(line, place, line.had_, line.number_);  // so that it is not the next line itself
  line.had_ = std::max({line.had_, now_, empty() ? 0 : Next().had_});
  Put(line, place, line.had_, line.number_);
}

FairLine& FairTurns::Next(bool either_sort) const {
  const Lines& first = places_[kWaits];
  const Lines& second = places_[kWaitsInSecond];
  if (!either_sort || second.empty()) return **first.begin();
  if (first.empty()) return **second.begin();
  return **std::min(first.begin(), second.begin(), [](auto a, auto b) { return Earlier()(*a, *b); });
}

void FairTurns::Begin(FairLine& line, uint64_t asks) {
  const uint64_t free = std::min(line.lead_, asks);
  line.lead_ -= free;
  ReturnLead(line);
  line.free_ += free;
  line.had_ = std::max(line.had_ + asks - free, crowded_until_);
  ++line.served_;
  Put(line, kServed, line.had_, line.number_);
}

// A line left to the others what it is now served for its credit, so that part advances neither the line nor `now`.
void FairTurns::End(FairLine& line, uint64_t asked, uint64_t done, uint64_t counted) {
  const uint64_t free = std::min(line.free_, asked);
  const uint64_t used = std::min(free, done);
  GoOn(done - std::min(done, used + counted));
  --line.served_;
  line.free_ -= free;
  line.credit_ += free - used;
  MayBeFree(free - used);
  line.had_ = line.had_ - (asked - free) + (done - used);
  if (IsWaiting(line)) {
    Put(line, line.place_, Rank(line), line.number_);
  } else if (line.served_ == 0) {
    Put(line, kAway, line.had_, line.number_);
  }
}

void FairTurns::Put(FairLine& line, uint8_t place, uint64_t due, uint64_t number) {
  auto node = places_[line.place_].extract(&line);
  line.place_ = place;
  line.due_ = static_cast<int64_t>(due);
  line.number_ = number;
  places_[place].insert(std::move(node));
}

void FairTurns::GoOn(uint64_t done) {
  MayBeFree(done / kFreePart);
  const uint64_t lines = known();
  const uint64_t shares = std::min(lines, kShares);
  undivided_ += done;
  const uint64_t step = undivided_ / shares;
  undivided_ %= shares;
  now_ += step;
  if (lines <= kShares) return;
  crowded_until_ = now_;
  ahead_ += step - std::min(step, done / (kPatience * lines));
}

}  // namespace weir
