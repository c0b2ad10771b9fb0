#include "relay/retention/disk_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "relay/nostr/vanish.h"
#include "relay/store/keys.h"

namespace weir {
namespace {

// Returns an average that follows `value` within about `lag` seconds.
double Follow(double average, double value, double passed, double lag) {
  return value + (average - value) * std::exp(-passed / lag);
}

}  // namespace

void DiskBudget::Note(const DiskUse& use, TimePoint now) {
  const MutexLock lock(mutex_);
  const uint64_t live = use.disk_bytes - std::min(use.disk_bytes, use.removed_bytes);
  const double bytes_of_one =
      std::max(1.0, static_cast<double>(live) / static_cast<double>(std::max<uint64_t>(1, use.events)));
  const double passed = samples_.empty() ? 0 : ToSeconds(now - samples_.back().at);
  NoteOthers(use, passed);
  NoteUsual(use, bytes_of_one, now, passed);
  used_ = use.file_bytes > 0 ? use.file_bytes : use.disk_bytes;
  live_ = live;
  const auto budget = static_cast<double>(bytes_);
  const double without_excess = static_cast<double>(live) + usual_removed_ + usual_others_ - budget;
  NoteExcess(use, std::max(0.0, without_excess + excess_), passed);
  const double over = without_excess + excess_;
  const double go = over > 0 ? std::ceil((over + kRemovedAtOnce * budget) / bytes_of_one) : 0;
  events_to_go_ = std::min(use.events, static_cast<uint64_t>(go));
  if (events_to_go_ == 0) nothing_left_ = false;
  SetRoom(live);
}

void DiskBudget::NoteOthers(const DiskUse& use, double passed) {
  if (use.file_bytes == 0) return;
  const auto others = std::min(static_cast<double>(use.file_bytes - std::min(use.file_bytes, use.disk_bytes)),
                               kMostOthers * static_cast<double>(bytes_));
  usual_others_ = samples_.empty() ? others : Follow(usual_others_, others, passed, ToSeconds(kOthersLag));
}

void DiskBudget::NoteUsual(const DiskUse& use, double bytes_of_one, TimePoint now, double passed) {
  const Sample last = samples_.empty() ? Sample{.at = now} : samples_.back();
  const uint64_t removed = std::exchange(removed_before_, 0);
  const uint64_t kept = events_before_ - std::min(events_before_, removed);
  const uint64_t saved = samples_.empty() ? 0 : use.events - std::min(use.events, kept);
  events_before_ = use.events;
  const Sample sample{.at = now,
                      .removed = last.removed + static_cast<double>(removed) * bytes_of_one,
                      .saved = last.saved + static_cast<double>(saved) * bytes_of_one};
  samples_.push_back(sample);
  const auto there = static_cast<double>(use.removed_bytes);
  // Drops the samples before the removal of the oldest bytes that are there.
  while (samples_.size() > 2 && (samples_.size() > kMostSamples || samples_[1].removed + there <= sample.removed))
    samples_.pop_front();
  const Sample& since = samples_.front();
  const double most = std::min(there, kMostUsual * static_cast<double>(bytes_));
  const double usual = std::min(most, sample.saved - since.saved);
  const double lag = std::max(ToSeconds(kLeastLag), ToSeconds(now - since.at) * kUsualLag);
  usual_removed_ = Follow(usual_removed_, usual, passed, lag);
}

void DiskBudget::NoteExcess(const DiskUse& use, double owed, double passed) {
  if (samples_.size() < 2) return;
  const Sample& since = samples_.front();
  const Sample& last = samples_.back();
  const double counted = kMostBySaved * (last.saved - since.saved);
  const double size = static_cast<double>(used_) - std::max(0.0, static_cast<double>(use.removed_bytes) - counted);
  const auto budget = static_cast<double>(bytes_);
  const bool saved = last.saved > samples_[samples_.size() - 2].saved;
  const double most = saved ? kMostExcessOfLook * budget : 0;
  const double above = std::clamp(size - owed - budget, -kMostExcessOfLook * budget, most);
  const double lag = std::max(ToSeconds(kLeastExcessLag), ToSeconds(last.at - since.at) * kExcessLag);
  excess_ = std::clamp(excess_ + above * std::min(1.0, passed / lag), 0.0, kMostExcess * budget);
}

void DiskBudget::SetRoom(uint64_t live_bytes) {
  least_used_ = std::min(least_used_, live_bytes);
  const auto reference = static_cast<double>(std::max(bytes_, least_used_));
  const auto above = [reference, live_bytes](double part) {
    return static_cast<double>(live_bytes) > reference * (1 + part) + kSlackBytes;
  };
  if (nothing_left_ || above(kAllWait)) {
    room_ = WriteRoom::kNone;
  } else if (above(kStrangersWait)) {
    room_ = WriteRoom::kKnownAuthors;
  } else {
    room_ = above(kImportsWait) ? WriteRoom::kNoImports : WriteRoom::kAll;
  }
}

uint64_t DiskBudget::events_to_go() const {
  const MutexLock lock(mutex_);
  return events_to_go_;
}

void DiskBudget::NoteRemoved(uint64_t events) {
  const MutexLock lock(mutex_);
  removed_before_ += events;
  events_to_go_ -= std::min(events_to_go_, events);
}

void DiskBudget::NoteNothingLeft(bool nothing_left) {
  const MutexLock lock(mutex_);
  nothing_left_ = nothing_left;
  if (nothing_left) room_ = WriteRoom::kNone;
}

std::string DiskBudget::Refusal(std::optional<Rung> rung, uint16_t kind) const {
  const WriteRoom room = room_;
  const bool is_known = !rung || *rung >= Rung::kRegular;
  if (room < WriteRoom::kKnownAuthors) return "";
  if (is_known && (kind == kDeletionKind || kind == kVanishKind)) return "";
  if (room == WriteRoom::kKnownAuthors)
    return !is_known
               ? "error: this relay's disk budget is nearly used up, so it takes only events of authors it knows; try "
                 "again in some minutes"
               : "";
  return nothing_left_ ? "error: this relay's disk budget is full, and all that is stored is to be kept"
                       : "error: this relay's disk budget is full; it removes old events, so try again in some minutes";
}

std::string DiskBudget::RefusalOfImport() const {
  if (room_ == WriteRoom::kAll) return "";
  return nothing_left_ ? "the disk budget (WEIR_MAX_DISK_GB) is used up, and all that is stored is to be kept"
                       : "the disk budget (WEIR_MAX_DISK_GB) is used up; imports go on when old events are removed";
}

}  // namespace weir
