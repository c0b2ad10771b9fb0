// GroupCommit: one thread that saves what many bring, in one write for all that waits.
//
// The longer a write takes, the more wait and the larger the next one gets: under load the cost of making it durable is
// shared, without load nobody waits for company. Whoever submits is told in the order of submission, after the write.
//
// Threads: Submit from any thread. `done` runs on the commit thread, once for every write, with all that it settled:
// hand over and return. What it can hold is bounded by the callers: each has a window of its own (relay/client.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "relay/store/event_store.h"

namespace weir {

struct Submission {
  Event event;
  std::shared_ptr<void> ticket;  // the caller's, handed back with the outcome
};

struct SettledEvent {
  Submission submission;
  SaveResult result;  // where `status` of the write is ok
};

struct GroupCommitLimits {
  size_t max_events = 2048;            // of one write
  size_t max_bytes = 4 * 1024 * 1024;  // of one write
};

struct GroupCommitStats {
  uint64_t writes = 0;
  uint64_t events = 0;       // submitted
  uint64_t failed = 0;       // whose write failed
  uint64_t waiting = 0;      // now; without bulk
  uint64_t bulk_writes = 0;  // SaveBulk's that went well; none of the above counts them
  uint64_t bulk_events = 0;  // of these, duplicates and all
  uint64_t failed_bulk_writes = 0;
  uint64_t bulk_waiting = 0;  // callers of SaveBulk, now; not the one whose write goes on
  uint64_t sweeps = 0;        // that reached their end
  uint64_t failed_sweeps = 0;
  uint64_t expired_removed = 0;
};

class GroupCommit {
 public:
  // `write_status` is of the whole write: on error none of `settled` was saved and their results mean nothing.
  using Done = std::function<void(std::span<SettledEvent> settled, const Status& write_status)>;

  GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits = {},
              const WallClock& clock = WallClock::System());
  // Saves what waits first.
  ~GroupCommit();

  // Taken in this order. After Stop the submissions are given back at once as failed ("shutting down"), on the thread
  // that submits.
  void Submit(std::span<Submission> submissions);
  // Saves these in a write of their own: when nobody else waits, or after a few writes of others. Returns when that is
  // done; several callers come in turn. The error is the store's, or "shutting down" where Stop came before the write.
  // For bulk work, which is not told to `done`; from any thread but the commit thread. One write holds up all others:
  // whoever calls keeps it small. Callers have to be back before this ends.
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results);
  // Saves what was submitted, tells it, and ends the thread; bulk writes that wait are refused. Idempotent.
  void Stop();

  GroupCommitStats Stats() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
