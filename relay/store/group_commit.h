// GroupCommit: one thread that saves the events of many submitters, in one write for all that wait.
//
// The longer a write takes, the more events wait and the larger the next write gets: under load they share the cost of
// making it durable, without load none waits for company. Addresses take turns by work, then their connections
// (relay/account/turns.h), and a write is bounded in events, bytes and work, both saving and removing: whatever others
// bring, and however many they are, an address that brings little waits for two writes at most. Work that takes longer,
// a large deletion, goes on in later writes, when the others have had as much. Between the writes the thread does,
// piece by piece, what the store owes: it removes events of authors who asked to vanish, and expired events. Removals
// in pieces pass the write gate as bulk work, so that the engine keeps up with them.
//
// Submitters are told after the write; those of one party in the order of their submissions, except for a deletion that
// takes longer.
//
// Threads: Submit may be called from any thread. `done` runs on the commit thread, once for every write, with all
// submissions that it settled: hand over and return. Callers bound what waits here: each has a window of its own
// (relay/protocol/event_window.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "relay/account/turns.h"
#include "relay/store/event_store.h"
#include "relay/store/paced_removals.h"

namespace weir {

// An event on its way into the store. Submitters derive classes of their own from it, with what they need when the
// outcome comes.
struct Submission {
  explicit Submission(Event e, const Party& p = {}, Work w = 0) : event(std::move(e)), party(p), work(w) {}
  virtual ~Submission() = default;

  const Event event;
  const Party party;
  const Work work;    // SavingWorkOf(event)
  SaveResult result;  // valid once it is settled, if the write's status is ok
  Work paid = 0;      // work of removals that is paid, if they take several writes
};

// Limits of one write. With the work of eight turns a write has six hundred events with the usual seven entries, or
// three with 2,000 tags.
struct GroupCommitLimits {
  size_t max_events = 2048;
  size_t max_bytes = 1024 * 1024;
  Work max_work = 8 * kTurnWork;
};

struct GroupCommitStats {
  uint64_t writes = 0;
  uint64_t events = 0;       // submitted
  uint64_t failed = 0;       // events whose write failed
  uint64_t waiting = 0;      // events that wait now; without bulk
  uint64_t bulk_writes = 0;  // successful calls of SaveBulk; none of the above counts them
  uint64_t bulk_events = 0;  // events that SaveBulk settled, duplicates and all
  uint64_t failed_bulk_writes = 0;
  uint64_t bulk_waiting = 0;   // callers of SaveBulk that wait now, except the one whose write goes on
  uint64_t sweeps = 0;         // times that all owed removals were done
  uint64_t failed_sweeps = 0;  // pieces of removals that failed; they are tried again
  uint64_t expired_removed = 0;
  uint64_t vanished_removed = 0;
};

class GroupCommit {
 public:
  using Submissions = std::span<const std::shared_ptr<Submission>>;
  // `write_status` is the whole write's: on error none of `settled` was saved and their results mean nothing.
  using Done = std::function<void(Submissions settled, const Status& write_status)>;

  GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits = {},
              const WallClock& clock = WallClock::System(), PacedRemovals::Admit admit = {},
              const Clock& steady = Clock::System());
  // Calls Stop.
  ~GroupCommit();

  // After Stop the submissions are reported at once as failed ("shutting down"), on the thread that submits.
  void Submit(Submissions submissions);
  // Saves these events in writes of their own: when no submission waits, or after a few writes of others. Returns when
  // all is done; several callers take turns. The error is the store's, or "shutting down" if Stop came before the end;
  // events written before that are settled. For bulk work, which is not reported to `done`. May be called from any
  // thread but the commit thread. Callers have to return before this object ends.
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results);
  // Saves what was submitted, reports it, and ends the thread. Waiting bulk writes are refused, as are deletions that
  // would take longer than a write. Idempotent.
  void Stop();

  GroupCommitStats Stats() const;

 private:
  struct BulkWrite;

  void Run();
  bool SleepUntilThereIsWork();
  void Take();
  bool BulkIsNext() const;
  void Write();
  void EndTurns(Submissions over);
  void PutBackOne(const std::shared_ptr<Submission>& s, bool had_a_write);
  void PutBack(size_t settled);
  void WriteBulk();
  void Settle(BulkWrite* write, Status status);
  void ResumeDeletions();
  void Tell(Submissions settled, const Status& status) const;
  void Refuse(Submissions submissions, const Status& why);

  EventStore& store_;
  const Done done_;
  const GroupCommitLimits limits_;
  const WallClock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable wake_up_;
  std::condition_variable bulk_settled_;
  Turns<std::shared_ptr<Submission>> waiting_;
  std::list<BulkWrite*> waiting_bulk_;
  bool sleeping_ = false;
  bool stopping_ = false;
  GroupCommitStats stats_;

  // The members below are used on the commit thread only.
  std::vector<std::shared_ptr<Submission>> taken_;
  std::vector<Event> events_;                       // the events of taken_
  std::vector<SaveResult> results_;                 // the results of taken_, with the parts of deletions that are done
  std::list<BulkWrite*> bulk_;                      // to be written now: one or none
  std::vector<std::shared_ptr<Submission>> begun_;  // deletions that wait for the gate
  PacedRemovals removals_;
  uint32_t writes_since_bulk_ = 0;

  std::mutex join_mutex_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weir
