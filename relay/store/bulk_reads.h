// BulkReads: reads the store for work that no client awaits, in slices. Each slice needs the limiter's admission as a
// bulk scan (throttle/scan_gate.h), and holds it while it reads. If the limiter refuses a slice, BulkReads asks again a
// second later, however long that lasts; so such work stands still in an emergency.
//
// Threads: one thread reads. Any thread may call Stop.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/store/event_store.h"
#include "throttle/admission.h"

namespace weir {

class BulkReads {
 public:
  // Asks the limiter to admit a scan as bulk work. If the function is empty, reads do not wait.
  using Admit = std::function<Admission(Cost cost)>;

  static constexpr Slice kSlice{.max_work = 4 * kTurnWork, .max_bytes = 512 * 1024};
  static constexpr Duration kAskAgainAfter = std::chrono::seconds(1);

  BulkReads(const EventStore& store, Admit admit) : store_(store), admit_(std::move(admit)) {}

  // Returns the admission of the next slice, which the caller keeps while it reads, or an error after Stop.
  Result<Admission> Await();

  // Reads the next slice of the query, after the limiter's admission, and suspends the query unless it has ended.
  // Returns an error if the store failed or after Stop.
  Result<Progress> Next(Query& query, const Query::OnMatch& on_match);
  // Calls `on_match` for the stored events that match a filter (EventStore::Find), until about the work `most` is done;
  // then it returns false. Returns true if all were read, or an error if the store failed or after Stop.
  Result<bool> Read(std::vector<Filter> filters, const QueryOptions& options, Work most,
                    const Query::OnMatch& on_match);

  // Ends the waits of Await, Next and Read, now and in future.
  void Stop();

  const EventStore& store() const { return store_; }

 private:
  const EventStore& store_;
  const Admit admit_;

  Mutex mutex_;
  Condition changed_;
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  bool settled_ WEIR_GUARDED_BY(mutex_) = false;  // the request that waits was admitted or refused
};

}  // namespace weir
