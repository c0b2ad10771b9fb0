#include "relay/store/count_estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace weir {
namespace {

// The fewest groups of an estimate. From fewer, it is not known how much they differ.
constexpr uint64_t kFewestGroups = 64;
constexpr double kGoodError = 0.01;
// Matches that count as a deviation in addition to the measured ones. Otherwise a sample without a match would seem to
// prove that the store has none.
constexpr double kUnseen = 4;

}  // namespace

// The next group is always that which follows by the golden section, so the first groups, however many they are, are
// evenly spread.
CountEstimate::CountEstimate(std::vector<EventGroups> groups, Query& query, uint64_t counted, uint64_t random)
    : all_(std::move(groups)), query_(query), counted_(counted) {
  for (const EventGroups& some : all_) groups_ += some.count;
  step_ = std::max<uint64_t>(1, static_cast<uint64_t>(0.6180339887 * WholeGroups()));
  while (std::gcd(step_, groups_) > 1) ++step_;
  next_ = random % std::max<uint64_t>(1, groups_);
}

Result<Progress> CountEstimate::Next(Work most) {
  const Work before = work_ + query_.work();
  for (Work spent = 0; spent < most && read_ < groups_; spent = work_ + query_.work() - before) {
    if (!group_) {
      group_ = GroupAt(next_);
      next_ = (next_ + step_) % groups_;
    }
    if (Status status = ReadOn(most - spent); !status.ok()) return status;
  }
  return read_ == groups_ || error() <= kGoodError ? Progress::kDone : Progress::kMore;
}

CountEstimate::Group CountEstimate::GroupAt(uint64_t number) const {
  for (const EventGroups& some : all_) {
    if (number < some.count) return {.of = &some, .number = number};
    number -= some.count;
  }
  return {};
}

// Reads the rest of the group, or some events of it.
Status CountEstimate::ReadOn(Work most) {
  Group& group = *group_;
  bool stopped = false;
  const Work matched_before = query_.work();
  Work reading = 0;
  const Result<Work> read =
      group.of->read(group.number, group.place, [&](uint64_t place, Serial serial, EventView event) {
        reading += kRecordWork + event.record().size() * kRecordByteWork;
        const std::optional<bool> found = query_.moment().Has(serial) ? query_.WouldFind(event, most) : false;
        if (found) group.place = place;
        if (found.value_or(false)) ++group.matches;
        stopped = !found || reading + (query_.work() - matched_before) >= most;
        return !stopped;
      });
  work_ += reading + (read.ok() ? read.value() : 0);
  if (read.ok() && !stopped) Finish();
  return read.status();
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
