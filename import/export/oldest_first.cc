#include "import/export/oldest_first.h"

#include <algorithm>
#include <utility>

namespace weir {

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
    if (walked.value() == Progress::kDone || is_past_) Settle();
  } else if (!ahead_.empty()) {
    const Span oldest = ahead_.back();
    ahead_.pop_back();
    Begin(oldest);
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
  uint64_t bytes =
      ahead_.capacity() * sizeof(Span) + bounds_.capacity() * sizeof(EventPlace) + (query_ ? query_->held_bytes() : 0);
  for (const std::string& record : held_) bytes += sizeof(std::string) + record.capacity();
  return bytes;
}

void OldestFirst::Begin(const Span& span) {
  std::vector<Filter> filters = filters_;
  for (Filter& filter : filters) {
    if (span.after) filter.until = std::min(filter.until, span.after->created_at);
    if (span.last) filter.since = std::max(filter.since, span.last->created_at);
  }
  query_ = store_.Find(std::move(filters), {.now_seconds = now_seconds_,
                                            .default_limit = kAllEvents,
                                            .max_limit = kAllEvents,
                                            .fills_cache = false,
                                            .after = span.after,
                                            .visible = nullptr});
  span_ = span;
  was_suspended_ = is_past_ = false;
  held_.clear();
  bounds_.clear();
  part_ = {};
}

// Ends a part before an event that would make it too large.
void OldestFirst::Take(EventView event) {
  const EventPlace place{.created_at = event.created_at(), .id = event.id()};
  is_past_ = is_past_ || (span_.last && *span_.last < place);
  if (is_past_) return;
  Load load = part_;
  load.Add(event.json().size());
  if (part_.events > 0 && !Fits(load)) {
    held_ = {};
    bounds_.push_back(read_);
    load = {};
    load.Add(event.json().size());
  }
  part_ = load;
  read_ = place;
  if (bounds_.empty()) held_.emplace_back(event.record());
}

void OldestFirst::Settle() {
  query_.reset();
  if (!bounds_.empty()) {
    Split();
  } else if (was_suspended_) {
    ahead_.push_back(span_);
  } else {
    handing_out_ = true;
  }
}

// The parts leave no gap, so an event that the store saves during the walk belongs to one of the parts.
void OldestFirst::Split() {
  std::optional<EventPlace> after = span_.after;
  for (const EventPlace& bound : bounds_) {
    ahead_.push_back({.after = after, .last = bound});
    after = bound;
  }
  ahead_.push_back({.after = after, .last = span_.last});
  bounds_ = {};
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
