// FilteredRemoval: removes the stored events that match filters, as bulk work. It reads the events in slices, each of
// which the limiter admits as a bulk scan (relay/store/bulk_reads.h), and removes those of a slice before it reads
// the next one (GroupCommit::RemoveBulk).
//
// One query goes through the events that were stored at its beginning, newest first, and visits each of them once. So
// the removal ends however fast the store grows, and an event that is saved again meanwhile stays. No mark is added, so
// clients can save the removed events again.
//
// Threads: Count and Run block, and belong to one thread. Any thread may call the other functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/store/bulk_reads.h"
#include "relay/store/event_store.h"

namespace weir {

// Makes the filters match only events whose created_at is at least this many seconds before `now_seconds`.
void MatchOnlyOlder(uint64_t age_seconds, uint64_t now_seconds, std::vector<Filter>* filters);
// Returns true if the filter matches every event.
bool MatchesAll(const Filter& filter);

class FilteredRemoval {
 public:
  // Removes the events with these ids, and returns their number. Returns early if `cancelled` becomes true.
  using Remove = std::function<Result<uint64_t>(std::span<const EventId> ids, const std::atomic<bool>& cancelled)>;

  // `store` must outlive the object.
  FilteredRemoval(const EventStore& store, BulkReads::Admit admit, Remove remove, std::vector<Filter> filters)
      : reads_(store, std::move(admit)), remove_(std::move(remove)), filters_(std::move(filters)) {}

  // Counts the events that match now. A filter with a limit matches only its newest events. Events that have expired
  // but are still stored count.
  Status Count();
  // Removes the events that match. If it returns an error, removed() of them are gone; a further call goes on with the
  // others.
  Status Run();
  // Ends Count and Run soon, now and in future, with an error.
  void Stop();

  bool stopped() const { return stopped_; }
  uint64_t matched() const { return matched_; }  // counted so far
  uint64_t removed() const { return removed_; }  // removed so far

 private:
  // Calls `after_slice` with the ids of each slice of the events that match.
  Status Visit(const std::function<Status(std::span<const EventId> ids)>& after_slice);

  // Returns the number of these events that are not stored any more, after a removal that has failed.
  uint64_t MissingOf(std::span<const EventId> ids) const;

  BulkReads reads_;
  const Remove remove_;
  const std::vector<Filter> filters_;
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> matched_{0};
  std::atomic<uint64_t> removed_{0};
};

}  // namespace weir
