#include "bench/advise/stall_conditions.h"

#include <algorithm>

namespace weir {
namespace {

// Stalls that follow each other sooner than this are one episode.
constexpr LogTime kPauseBetweenEpisodes = std::chrono::seconds(30);

// Without flushes and compactions in the LOG, only lines show that a condition still holds: they come with each full
// memtable.
constexpr LogTime kLongestWithoutLine = std::chrono::seconds(60);

}  // namespace

void StallConditions::Stall(size_t family, LogTime at, StallLimit limit, bool stops) {
  Family& f = At(family);
  if (f.holds && !f.saw_job && at - f.last_line > kLongestWithoutLine) EndOne(&f, f.last_line);
  ++f.totals[stops ? 1 : 0][static_cast<size_t>(limit)].lines;
  Advance(at);
  if (f.holds) {
    Count(&f, at);
    --(f.stops ? stopping_ : delaying_);
  } else {
    f.counted = at;
  }
  f.holds = true;
  f.stops = stops;
  f.limit = limit;
  f.last_line = std::max(f.last_line, at);
  ++(stops ? stopping_ : delaying_);
  if (!has_episode_ || at - episode_.end > kPauseBetweenEpisodes) {
    KeepEpisode();
    episode_ = {.begin = at, .end = at, .family = family, .limit = limit};
    has_episode_ = true;
  }
  episode_.stopped = episode_.stopped || stops;
}

void StallConditions::JobEnded(size_t family, LogTime at) {
  Family& f = At(family);
  f.saw_job = true;
  if (f.holds && f.last_line < at) EndOne(&f, at);
}

void StallConditions::End(LogTime at) {
  for (Family& f : families_)
    if (f.holds) EndOne(&f, f.saw_job ? at : f.last_line);
}

double StallConditions::SecondsUntil(LogTime at) const {
  const bool holds = stopping_ + delaying_ > 0 && at > advanced_;
  return seconds_[0] + seconds_[1] + (holds ? LogSeconds(at - advanced_) : 0);
}

StallTotals StallConditions::TotalsOf(size_t family) const {
  return family < families_.size() ? families_[family].totals : StallTotals{};
}

std::vector<StallEpisode> StallConditions::Episodes() const {
  std::vector<StallEpisode> all = episodes_;
  if (has_episode_) all.push_back(episode_);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  if (all.size() > kMostEpisodes) all.resize(kMostEpisodes);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return all;
}

StallConditions::Family& StallConditions::At(size_t family) {
  if (family >= families_.size()) families_.resize(family + 1);
  return families_[family];
}

void StallConditions::Count(Family* f, LogTime at) {
  if (at <= f->counted) return;
  f->totals[f->stops ? 1 : 0][static_cast<size_t>(f->limit)].seconds += LogSeconds(at - f->counted);
  f->counted = at;
}

void StallConditions::EndOne(Family* f, LogTime at) {
  Advance(at);
  Count(f, at);
  --(f->stops ? stopping_ : delaying_);
  f->holds = false;
}

// Counts the time until `at` for the database as a whole. A moment before the last one adds nothing.
void StallConditions::Advance(LogTime at) {
  if (at <= advanced_) return;
  if (stopping_ + delaying_ > 0) {
    const double seconds = LogSeconds(at - advanced_);
    seconds_[stopping_ > 0 ? 1 : 0] += seconds;
    timeline_.Add(advanced_, at,
                  {.delayed_seconds = stopping_ > 0 ? 0 : seconds, .stopped_seconds = stopping_ > 0 ? seconds : 0});
    episode_.seconds += seconds;
    episode_.end = at;
  }
  advanced_ = at;
}

// Moves the episode that is over to the longest ones.
void StallConditions::KeepEpisode() {
  if (!has_episode_) return;
  episodes_.push_back(episode_);
  has_episode_ = false;
  if (episodes_.size() <= kMostEpisodes) return;
  episodes_.erase(std::min_element(episodes_.begin(), episodes_.end(),
                                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
}

}  // namespace weir
