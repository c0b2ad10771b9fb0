#include "relay/retention/budget_sweep.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "relay/account/work.h"

namespace weir {
namespace {

// Returns the moment that lacks the newest tenth of the stored events. Serials have gaps, so it may lack fewer.
Moment WithoutSpared(const Moment& now, uint64_t events) {
  Moment moment;
  for (const Serial& last : now.last())
    moment.Advance({last.origin, last.number - std::min(last.number, events / BudgetSweep::kSparedPart)});
  return moment;
}

}  // namespace

Status BudgetSweep::Remove(uint64_t events, const RetentionRules& rules, TimePoint now, Swept* swept) {
  const bool was_empty = nothing_left_since_.has_value();
  if (!begun_ || now - *begun_ >= kBeginAgainAfter || (was_empty && now - *nothing_left_since_ >= kLookAgainAfter)) {
    passed_ = {};
    begun_ = now;
    nothing_left_since_.reset();
  }
  const Result<Moment> all = parts_.reads.store().Now();
  if (!all.ok()) return all.status();
  const Moment old = WithoutSpared(all.value(), parts_.reads.store().Sizes().events);
  uint64_t left = events;
  for (const Moment* part : {&old, &all.value()}) {
    for (size_t rung = 0; rung < kRungs; ++rung) {
      const Result<bool> enough = RemoveOf(static_cast<Rung>(rung), *part, rules, &left, swept);
      if (!enough.ok()) return enough.status();
      if (!enough.value()) continue;
      nothing_left_since_.reset();
      return Status();
    }
  }
  swept->nothing_left = left == events;
  if (swept->nothing_left && !nothing_left_since_) nothing_left_since_ = now;
  return Status();
}

Result<bool> BudgetSweep::RemoveOf(Rung rung, const Moment& until, const RetentionRules& rules, uint64_t* left,
                                   Swept* swept) {
  while (!passed_[static_cast<size_t>(rung)].Covers(until)) {
    Result<bool> enough = RemoveSlice(rung, until, rules, left, swept);
    if (!enough.ok() || enough.value()) return enough;
  }
  return *left == 0;
}

Result<bool> BudgetSweep::RemoveSlice(Rung rung, const Moment& until, const RetentionRules& rules, uint64_t* left,
                                      Swept* swept) {
  Moment& passed = passed_[static_cast<size_t>(rung)];
  Moment reached = passed;
  std::vector<EventId> ids;
  std::array<uint64_t, kRungs> by_rung{};
  bool sliced = false;
  Status read;
  {
    const Result<Admission> admission = parts_.reads.Await();
    if (!admission.ok()) return admission.status();
    Work work = kSeekWork;
    read = parts_.reads.store().ScanAll(passed, until, [&](Serial serial, EventView event) {
      reached.Advance(serial);
      const Rung of_author = parts_.RungOf(event);
      if (of_author <= rung && !rules.KeptBy(event, of_author)) {
        ids.push_back(event.id());
        ++by_rung[static_cast<size_t>(of_author)];
      }
      work += kRecordWork + event.record().size() * kRecordByteWork;
      sliced = work >= BulkReads::kSlice.max_work || ids.size() >= std::min<uint64_t>(*left, kRemovedTogether);
      return !sliced;
    });
  }
  if (!read.ok() && !parts_.reads.store().is_shared()) {
    // A damaged record must not end the sweep, so the next slice begins behind it.
    passed = reached;
    passed.Advance({.number = reached.NumberOf(0) + 1});
  }
  if (!ids.empty()) {
    const Result<uint64_t> removed = parts_.remove(ids);
    if (!removed.ok()) return removed.status();
    for (size_t i = 0; i < kRungs; ++i) swept->removed[i] += by_rung[i];
    *left -= std::min<uint64_t>(*left, ids.size());
  }
  if (!read.ok()) return read;
  passed = sliced ? reached : until;
  return *left == 0;
}

}  // namespace weir
