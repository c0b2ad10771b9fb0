#include "relay/retention/filtered_removal.h"

#include <algorithm>
#include <memory>

namespace weir {

void MatchOnlyOlder(uint64_t age_seconds, uint64_t now_seconds, std::vector<Filter>* filters) {
  const uint64_t newest = now_seconds - std::min(now_seconds, age_seconds);
  for (Filter& filter : *filters) filter.until = std::min(filter.until, newest);
}

bool MatchesAll(const Filter& filter) { return filter == Filter(); }

Status FilteredRemoval::Visit(const std::function<Status(std::span<const EventId> ids)>& after_slice) {
  const std::unique_ptr<Query> query =
      reads_.store().Find(filters_, {.default_limit = kAllEvents, .max_limit = kAllEvents, .fills_cache = false});
  std::vector<EventId> ids;
  for (;;) {
    ids.clear();
    const Result<Progress> progress = reads_.Next(*query, [&ids](EventView event) { ids.push_back(event.id()); });
    if (!progress.ok()) return progress.status();
    if (Status done = after_slice(ids); !done.ok()) return done;
    if (progress.value() == Progress::kDone) return {};
  }
}

Status FilteredRemoval::Count() {
  matched_ = 0;
  return Visit([this](std::span<const EventId> ids) {
    matched_ += ids.size();
    return Status();
  });
}

Status FilteredRemoval::Run() {
  return Visit([this](std::span<const EventId> ids) -> Status {
    const Result<uint64_t> removed = remove_(ids, stopped_);
    removed_ += removed.ok() ? removed.value() : MissingOf(ids);
    if (!removed.ok()) return removed.status();
    return stopped_ ? Status::Error("stopped") : Status();
  });
}

uint64_t FilteredRemoval::MissingOf(std::span<const EventId> ids) const {
  const Result<std::vector<bool>> stored = reads_.store().Stored(ids);
  return stored.ok() ? static_cast<uint64_t>(std::ranges::count(stored.value(), false)) : 0;
}

void FilteredRemoval::Stop() {
  stopped_ = true;
  reads_.Stop();
}

}  // namespace weir
