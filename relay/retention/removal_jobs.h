// RemovalJobs: removals that administrators have asked for (removal_order.h). One goes on at a time, on a thread of its
// own; a removal of a million events takes minutes. It counts the events that match first, and then removes them
// (filtered_removal.h). A removal ends with the process, and is not resumed after a restart: the events that were left
// are found by the same order.
//
//   RemovalJobs jobs(store, admit, remove);
//   const Result<RemovalState> begun = jobs.Begin(order, "npub1…");
//   … jobs.List() …
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/text/json_writer.h"
#include "relay/retention/filtered_removal.h"
#include "relay/retention/removal_order.h"

namespace weir {

struct RemovalState {
  enum class Phase : uint8_t { kCounting, kRemoving, kDone, kStopped, kFailed };

  uint64_t id = 0;    // grows, also from one process to the next, because it is at least the time of the beginning
  std::string by;     // the administrator
  std::string order;  // the RemovalOrder as JSON; a long one is cut
  bool dry_run = false;
  Phase phase = Phase::kCounting;
  uint64_t matched = 0;  // events that match, counted so far
  uint64_t removed = 0;  // events that are removed so far
  std::string error;     // if it has failed

  bool goes_on() const { return phase == Phase::kCounting || phase == Phase::kRemoving; }
};
std::string_view NameOf(RemovalState::Phase phase);  // "counting"
// Writes the state as {"id":…,"by":…,"order":…,"dry_run":…,"state":"counting","matched":…,"removed":…,"error":…}.
void WriteState(const RemovalState& state, JsonWriter& json);
// Reads what WriteState has written.
Result<RemovalState> ReadState(std::string_view json);

class RemovalJobs {
 public:
  static constexpr size_t kMostListed = 16;

  // `store` and the clock must outlive the object.
  RemovalJobs(const EventStore& store, BulkReads::Admit admit, FilteredRemoval::Remove remove,
              const WallClock& clock = WallClock::System());
  // Calls Stop.
  ~RemovalJobs();

  // Begins a removal, and returns its state. Returns an error if another one goes on, or after Stop.
  Result<RemovalState> Begin(RemovalOrder order, const std::string& by);
  // Ends a removal soon; what is removed by then stays removed. Returns false if none with this id goes on.
  bool Cancel(uint64_t id);
  // Returns the last removals, the newest first, at most kMostListed.
  std::vector<RemovalState> List() const;
  // Ends the removal that goes on, and waits for its end. May be called more than once.
  void Stop();

  uint64_t removed() const;  // events, since the start

 private:
  struct Job;

  void Run(Job& job);
  Status Carry(Job& job);
  RemovalState StateOf(const Job& job) const WEIR_REQUIRES(mutex_);

  const EventStore& store_;
  const BulkReads::Admit admit_;
  const FilteredRemoval::Remove remove_;
  const WallClock& clock_;

  Mutex begin_mutex_;                                 // held while a job is begun, and while its thread is joined
  std::thread thread_ WEIR_GUARDED_BY(begin_mutex_);  // carries out the newest job

  mutable Mutex mutex_;
  std::deque<std::unique_ptr<Job>> jobs_ WEIR_GUARDED_BY(mutex_);  // the newest first
  uint64_t removed_ WEIR_GUARDED_BY(mutex_) = 0;                   // by jobs that have ended
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
