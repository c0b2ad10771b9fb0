// GroupCommit: the commit thread, which saves the events of all clients in the store. Each write to the database saves
// the events that wait at that time, up to a limit.
//
// The longer a write takes, the more events wait and the larger the next write gets. So under load, events share the
// cost of making a write durable; without load, no event waits for others.
//
// Client addresses take turns by work, and within an address its connections do (relay/account/turns.h). A write is
// bounded in events, bytes and work. So an address with few events waits for two writes at most, however much the
// others send. A large deletion takes several writes, and other clients get as much work done between them.
//
// Between the writes the thread removes events of authors who asked to vanish, and expired events, piece by piece
// (paced_removals.h). Removals that take several pieces pass the write gate as bulk work, so that the database keeps up
// with them.
//
// Threads: Submit and SaveBulk may be called from any thread. Callers bound the number of events that wait here: each
// connection has a window of its own (relay/protocol/event_window.h).
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

// An event that is to be saved. Callers derive their own classes from it, with the data that they need when they get
// the outcome.
struct Submission {
  explicit Submission(Event e, const Party& p = {}, Work w = 0) : event(std::move(e)), party(p), work(w) {}
  virtual ~Submission() = default;

  const Event event;
  const Party party;
  const Work work;    // SavingWorkOf(event)
  SaveResult result;  // valid once the submission is settled, if the write's status is ok
  Work paid = 0;      // work of removals that was already charged to the party, if they take several writes
};

// Limits of one write. With these limits a write can have five hundred events with the usual seven index entries, or
// one event with 2,000 tags.
struct GroupCommitLimits {
  size_t max_events = 2048;
  size_t max_bytes = 1024 * 1024;
  Work max_work = 8 * kTurnWork;
};

struct GroupCommitStats {
  uint64_t writes = 0;
  uint64_t events = 0;       // events that were submitted
  uint64_t failed = 0;       // events whose write failed or was refused
  uint64_t waiting = 0;      // events that wait now
  uint64_t bulk_writes = 0;  // successful calls of SaveBulk; the counters above do not include them
  uint64_t bulk_events = 0;  // events that SaveBulk settled, duplicates included
  uint64_t failed_bulk_writes = 0;
  uint64_t bulk_waiting = 0;   // callers of SaveBulk that wait now, except the one whose events are being written
  uint64_t sweeps = 0;         // number of times that no removal was left to do
  uint64_t failed_sweeps = 0;  // pieces of removals that failed; they are tried again
  uint64_t expired_removed = 0;
  uint64_t vanished_removed = 0;
};

class GroupCommit {
 public:
  using Submissions = std::span<const std::shared_ptr<Submission>>;
  // Called once after each write that settled submissions, on the commit thread, with all of them. Submissions of one
  // party come in the order in which they were submitted, except for a deletion that takes several writes. If
  // `write_status` is an error, none of them may be taken as saved (EventStore::SaveSome), and their results mean
  // nothing. Also called if submissions are refused (Submit, Stop). The function should pass its work to other threads
  // and return, because no write begins before it returns. An exception from it is logged.
  using Done = std::function<void(Submissions settled, const Status& write_status)>;

  // Starts the thread. `store` and the clocks must outlive the object. `admit` asks the write gate for removals; if it
  // is empty, removals do not wait.
  GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits = {},
              const WallClock& clock = WallClock::System(), PacedRemovals::Admit admit = {},
              const Clock& steady = Clock::System());
  // Calls Stop.
  ~GroupCommit();

  // Queues events to be saved. After Stop, or if memory runs out, it calls `done` itself with an error ("shutting
  // down"), on the calling thread, before it returns.
  void Submit(Submissions submissions);
  // Saves the events of an import, in writes that have only them, and returns when all are saved. Such a write begins
  // when no submission waits, or after four writes of submissions; several callers are served one after the other.
  // Returns the store's error, or "shutting down" if Stop came first; the events whose results have `settled` set keep
  // their outcomes. Does not call `done`. May be called from any thread except the commit thread, and must return
  // before this object is destroyed.
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results);
  // Saves the events that were submitted, calls `done` for them and ends the thread. Refuses callers of SaveBulk that
  // wait, and deletions that need a further write ("shutting down"). May be called more than once.
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
  std::list<BulkWrite*> bulk_;                      // the next bulk write, or none
  std::vector<std::shared_ptr<Submission>> begun_;  // deletions that have begun and wait for the write gate
  PacedRemovals removals_;
  uint32_t writes_since_bulk_ = 0;

  std::mutex join_mutex_;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace weir
