#include "relay/store/count_estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace weir {
namespace {

constexpr uint64_t kSerialsOfGroup = 16;
// The fewest groups of an estimate. From fewer, it is not known how much they differ.
constexpr uint64_t kFewestGroups = 64;
constexpr double kGoodError = 0.01;
// Matches that count as a deviation in addition to the measured ones. Otherwise a sample without a match would seem to
// prove that the store has none.
constexpr double kUnseen = 4;

uint64_t GroupsOf(Serial last) { return (last.number + kSerialsOfGroup - 1) / kSerialsOfGroup; }

}  // namespace

// The next group is always that which follows by the golden section, so the first groups, however many they are, are
// evenly spread.
CountEstimate::CountEstimate(const EventStore& store, Query& query, uint64_t counted)
    : store_(store), query_(query), counted_(counted) {
  for (const Serial& last : query.moment().last()) groups_ += GroupsOf(last);
  step_ = std::max<uint64_t>(1, static_cast<uint64_t>(0.6180339887 * WholeGroups()));
  while (std::gcd(step_, groups_) > 1) ++step_;
}

Result<Progress> CountEstimate::Next(Work most) {
  const Work before = work_ + query_.work();
  for (Work spent = 0; spent < most && read_ < groups_; spent = work_ + query_.work() - before) {
    if (!group_) {
      group_ = GroupAt(next_);
      next_ = (next_ + step_) % groups_;
    }
    if (Status status = ReadOn(most - spent); !status.ok()) return status;
    if (group_->first > group_->last) Finish();
  }
  return read_ == groups_ || error() <= kGoodError ? Progress::kDone : Progress::kMore;
}

CountEstimate::Group CountEstimate::GroupAt(uint64_t number) const {
  for (const Serial& last : query_.moment().last()) {
    const uint64_t groups = GroupsOf(last);
    if (number < groups) {
      const uint64_t first = number * kSerialsOfGroup + 1;
      return {.origin = last.origin, .first = first, .last = std::min(first + kSerialsOfGroup - 1, last.number)};
    }
    number -= groups;
  }
  return {};
}

// Reads the rest of the group, or some events of it.
Status CountEstimate::ReadOn(Work most) {
  Group& group = *group_;
  Moment after;
  Moment until;
  after.Advance({group.origin, group.first - 1});
  until.Advance({group.origin, group.last});
  bool stopped = false;
  const Work matched_before = query_.work();
  Work reading = kSeekWork;
  Status status = store_.ScanAll(after, until, [&](Serial serial, EventView event) {
    reading += kRecordWork + event.record().size() * kRecordByteWork;
    const std::optional<bool> found = query_.WouldFind(event, most);
    group.first = serial.number + (found ? 1 : 0);
    if (found.value_or(false)) ++group.matches;
    stopped = !found || reading + (query_.work() - matched_before) >= most;
    return !stopped;
  });
  work_ += reading;
  if (!stopped) group.first = group.last + 1;
  return status;
}

void CountEstimate::Finish() {
  ++read_;
  matches_ += group_->matches;
  matches_squared_ += group_->matches * group_->matches;
  group_.reset();
}

uint64_t CountEstimate::total() const {
  if (read_ == 0) return counted_;
  const double found = static_cast<double>(matches_) * WholeGroups() / static_cast<double>(read_);
  return counted_ + static_cast<uint64_t>(std::llround(found));
}

// The error of a sample without replacement. A sample of all groups has none.
double CountEstimate::error() const {
  const auto read = static_cast<double>(read_);
  if (read_ == groups_) return 0;
  if (read_ < kFewestGroups) return 1;
  const auto matches = static_cast<double>(matches_);
  const double deviations = static_cast<double>(matches_squared_) - matches * matches / read + kUnseen;
  const double variance = deviations / (read - 1) / read * (1 - read / WholeGroups());
  return WholeGroups() * std::sqrt(variance) / static_cast<double>(std::max<uint64_t>(1, total()));
}

}  // namespace weir
