#include "import/export/oldest_first.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir {
namespace {}  // namespace

OldestFirst::OldestFirst(const EventStore& store, std::vector<Filter> filters, uint64_t now_seconds,
                         const ExportWindow& window)
    : store_(store), filters_(std::move(filters)), now_seconds_(now_seconds), window_(window) {
  ahead_.push_back({});
}

Result<Progress> OldestFirst::Next(const Slice& slice, const OnEvent& on_event) {
  if (handing_out_) {
    HandOut(slice, on_event);
  } else if (query_) {
    const Result<Progress> walked = query_->Next(slice, [this](EventView event) { Take(event); });
    if (!walked.ok()) return walked.status();
    if (walked.value() == Progress::kDone) Settle();
  } else if (!ahead_.empty()) {
    Span oldest = std::move(ahead_.back());
    ahead_.pop_back();
    Begin(std::move(oldest));
  } else {
    return Progress::kDone;
  }
  return Progress::kMore;
}

void OldestFirst::Suspend() {
  if (!query_) return;
  query_->Suspend();
  was_suspended_ = true;
}

uint64_t OldestFirst::held_bytes() const {
  uint64_t bytes = ahead_.capacity() * sizeof(Span) + ids_.capacity() * sizeof(Sized) +
                   bounds_.capacity() * sizeof(uint64_t) + (query_ ? query_->held_bytes() : 0);
  for (const std::string& record : held_) bytes += sizeof(std::string) + record.capacity();
  return bytes;
}

void OldestFirst::Begin(Span span) {
  std::vector<Filter> filters;
  if (span.ids.empty()) {
    filters = filters_;
  } else {
    filters.emplace_back().ids = span.ids;
  }
  for (Filter& filter : filters) {
    filter.since = std::max(filter.since, span.since);
    filter.until = std::min(filter.until, span.until);
  }
  query_ = store_.Find(std::move(filters), {.now_seconds = now_seconds_,
                                            .default_limit = kAll,
                                            .max_limit = kAll,
                                            .fills_cache = false,
                                            .visible = nullptr});
  span_ = std::move(span);
  fits_ = true;
  was_suspended_ = false;
  held_.clear();
  bounds_.clear();
  ids_.clear();
  part_ = second_ = {};
}

// Ends a part before a second that would make it too large, so that each part fits or is a single second.
void OldestFirst::Take(EventView event) {
  if (event.created_at() != created_at_) second_ = {};
  created_at_ = event.created_at();
  part_.Add(event.json().size());
  second_.Add(event.json().size());
  // A span of ids was measured before, so it fits.
  if (span_.ids.empty() && !Fits(part_)) {
    fits_ = false;
    held_ = {};
    if (second_.events < part_.events) {
      bounds_.push_back(created_at_);
      part_ = second_;
      ids_ = {};
    }
  }
  if (fits_) held_.emplace_back(event.record());
  if (span_.ids.empty() && bounds_.empty()) ids_.push_back({event.id(), event.json().size()});
}

void OldestFirst::Settle() {
  query_.reset();
  if (fits_ && was_suspended_) {
    ahead_.push_back(span_);
  } else if (fits_) {
    handing_out_ = true;
  } else if (bounds_.empty()) {
    SplitById();
  } else {
    SplitByTime();
  }
  ids_ = {};
}

// The parts leave no gap, so an event that the store saves during the walk belongs to one of the parts.
void OldestFirst::SplitByTime() {
  uint64_t until = span_.until;
  for (const uint64_t bound : bounds_) {
    ahead_.push_back({.since = bound + 1, .until = until, .ids = {}});
    until = bound;
  }
  ahead_.push_back({.since = span_.since, .until = until, .ids = {}});
}

void OldestFirst::SplitById() {
  Load group;
  for (const Sized& sized : ids_) {
    group.Add(sized.bytes);
    if (group.events == 1 || !Fits(group)) {
      ahead_.emplace_back();
      group = {};
      group.Add(sized.bytes);
    }
    ahead_.back().ids.push_back(sized.id);
  }
}

void OldestFirst::HandOut(const Slice& slice, const OnEvent& on_event) {
  uint64_t bytes = 0;
  while (!held_.empty() && bytes < std::max(1u, slice.max_bytes)) {
    const EventView event(held_.back());
    bytes += event.json().size();
    on_event(event);
    held_.pop_back();
  }
  handing_out_ = !held_.empty();
}

}  // namespace weir
