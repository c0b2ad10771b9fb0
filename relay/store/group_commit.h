// GroupCommit: the commit thread, which saves the events of all clients in the store. Each write to the database saves
// the events that clients have queued by then, up to a limit. Events of imports have writes of their own (SaveBulk).
//
// The longer a write takes, the more events are queued and the larger the next write gets. So under load, events share
// the cost of making a write durable; without load, no event waits for others.
//
// Client addresses take turns by the work that their events cost, and so do the connections of an address
// (relay/account/turns.h). A write is bounded in events, bytes and work. So an address with many queued events delays
// mostly its own: an event of an address with few queued events is usually part of the next write. A large deletion
// takes several writes. Its client is charged for each of them, so other clients have their turns in between.
//
// Between the writes the thread removes events of authors who asked to vanish, expired events, and those that
// RemoveBulk names, piece by piece (paced_removals.h). The write gate of the throttle has to admit each further piece
// of a removal as bulk work, so that the database keeps up with the removals.
//
// Saves and removals take an event for expired at the time of the same BelievedClock (believed_clock.h), because a save
// may remove stored events for good: an expired version gives way to any other version at its address.
//
// Threads: all functions may be called from any thread, except that the commit thread must not call SaveBulk,
// RemoveBulk, Perform or Stop. The callers must bound the number of events that are queued here; a relay does that for
// each connection (relay/protocol/event_window.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "relay/account/turns.h"
#include "relay/store/believed_clock.h"
#include "relay/store/event_store.h"
#include "relay/store/paced_removals.h"

namespace weir {

// An event to be saved. A caller derives a class from it for the data that it needs when the event is settled.
struct Submission {
  explicit Submission(Event e, const Party& p = {}, Work w = 0) : event(std::move(e)), party(p), work(w) {}
  virtual ~Submission() = default;

  const Event event;
  Party party;        // the submission takes its turns; does not change once it is submitted
  const Work work;    // SavingWorkOf(event)
  SaveResult result;  // valid once the submission is settled (see Done), if the status is ok
  Work paid = 0;      // work that the party was charged for earlier writes of a large deletion
};

// The limits of one write of submissions, which always has at least one. They allow about 570 events with the usual
// seven index entries, or one event with 2,000 tags.
struct GroupCommitLimits {
  size_t max_events = 2048;
  size_t max_bytes = 1024 * 1024;
  Work max_work = 8 * kTurnWork;
};

struct GroupCommitStats {
  uint64_t writes = 0;
  uint64_t events = 0;       // events that were submitted
  uint64_t failed = 0;       // events that were refused, or whose write failed
  uint64_t waiting = 0;      // events that are queued now
  uint64_t bulk_writes = 0;  // successful calls of SaveBulk; the counters above do not include them
  uint64_t bulk_events = 0;  // events that SaveBulk has settled, including duplicates
  uint64_t failed_bulk_writes = 0;
  uint64_t bulk_waiting = 0;   // callers of SaveBulk that wait now, except the one whose events are being written
  uint64_t sweeps = 0;         // number of times that no removal was due any more, and none had failed
  uint64_t failed_sweeps = 0;  // pieces of removals that failed; they are tried again
  uint64_t expired_removed = 0;
  uint64_t vanished_removed = 0;
};

class GroupCommit {
 public:
  using Submissions = std::span<const std::shared_ptr<Submission>>;
  // Called when submissions are settled, which means that they are saved, rejected by the store, or refused by
  // GroupCommit. After each write that settles submissions, the commit thread calls Done once with all of them. It also
  // calls Done with submissions that it refuses because of Stop or because memory runs out; for those that Submit
  // refuses, it calls Done on the thread that calls Submit. If `write_status` is an error, none of the submissions may
  // be treated as saved (EventStore::SaveSome), and their results mean nothing. Submissions of one party (a connection)
  // come in the order in which they were submitted, except for those that Submit refuses and for a deletion that takes
  // several writes. Done should pass its work to other threads and return, because the commit thread begins no write
  // before that. Exceptions from Done are logged.
  using Done = std::function<void(Submissions settled, const Status& write_status)>;

  // Starts the thread. `store` and the clocks must outlive the object. `admit` asks the write gate to admit removals;
  // if it is empty, removals do not wait.
  GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits = {},
              const WallClock& clock = WallClock::System(), PacedRemovals::Admit admit = {},
              const Clock& steady = Clock::System());
  // Calls Stop.
  ~GroupCommit();

  // Queues events to be saved. After Stop, or if memory runs out, calls `done` for the events that it does not queue,
  // with an error (after Stop: "shutting down"), on the calling thread, before it returns.
  void Submit(Submissions submissions);
  // Saves the events of an import, in writes of their own, and returns when all are saved. Such a write begins when no
  // submission is queued, or after four writes of submissions. If several threads call SaveBulk, the events of one call
  // are saved before those of the next. Returns the store's error, or "shutting down" if Stop is called before all are
  // saved; the outcomes of results with `settled` are final even then. Does not call `done`. All calls must have
  // returned before this object is destroyed.
  // If `are_news`, other relays on the same store pass the events to their subscribers (EventStore::SaveSome).
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news = false);
  // Removes the events with these ids, in pieces that take turns with the other removals, and returns when all are
  // removed, with the number of events that were stored. Adds no deletion mark, so the events can be saved again. If
  // several threads call RemoveBulk, the events of one call are removed before those of the next. Returns the store's
  // error, or "shutting down" if Stop is called before all are removed; then some of them may be removed. If
  // `cancelled` is not null and becomes true, returns soon, with the number of those that are removed by then. All
  // calls must have returned before this object is destroyed.
  Result<uint64_t> RemoveBulk(std::span<const EventId> ids, const std::atomic<bool>* cancelled = nullptr);
  // Calls `change` on the commit thread, before the next write, and returns its result. So `change` may call the
  // functions of the store that change it; it should do as much work as a write at most. Returns "shutting down" after
  // Stop, and then does not call it. All calls must have returned before this object is destroyed.
  Status Perform(const std::function<Status()>& change);
  // Makes the thread also remove other events, with about the work `most` in each call of `remove_piece`: now, after
  // each Perform, and once a minute, each time until it has no more. Waits until an earlier function is not called any
  // more. An empty function ends it.
  void RemoveAlso(std::function<Result<OwedPiece>(Work most)> remove_piece);
  // Saves the queued events, calls `done` for them and ends the thread. Calls of SaveBulk whose events are not all
  // saved, and deletions that need a further write, get the error "shutting down". May be called more than once.
  void Stop();

  GroupCommitStats Stats() const;

 private:
  struct BulkWrite;
  struct Errand;

  void Run();
  bool SleepUntilThereIsWork();
  void Take() WEIR_REQUIRES(mutex_);
  bool BulkIsNext() const WEIR_REQUIRES(mutex_);
  void Write();
  void EndTurns(Submissions over) WEIR_REQUIRES(mutex_);
  void PutBackOne(const std::shared_ptr<Submission>& s, bool had_a_write) WEIR_REQUIRES(mutex_);
  void PutBack(size_t settled);
  void WriteBulk();
  void RunErrands();
  void Settle(BulkWrite* write, Status status) WEIR_REQUIRES(mutex_);
  void ResumeDeletions() WEIR_REQUIRES(mutex_);
  void Tell(Submissions settled, const Status& status) const;
  void Refuse(Submissions submissions, const Status& why);

  EventStore& store_;
  const Done done_;
  const GroupCommitLimits limits_;

  mutable Mutex mutex_;
  Condition wake_up_;
  Condition bulk_settled_;
  Condition errand_done_;
  Turns<std::shared_ptr<Submission>> waiting_ WEIR_GUARDED_BY(mutex_);
  std::list<BulkWrite*> waiting_bulk_ WEIR_GUARDED_BY(mutex_);
  std::vector<Errand*> errands_ WEIR_GUARDED_BY(mutex_);
  bool sleeping_ WEIR_GUARDED_BY(mutex_) = false;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  GroupCommitStats stats_ WEIR_GUARDED_BY(mutex_);

  // The members below are used on the commit thread only.
  std::vector<std::shared_ptr<Submission>> taken_;
  std::vector<Event> events_;                       // the events of taken_
  std::vector<SaveResult> results_;                 // the results of taken_; at first those of earlier writes
  std::list<BulkWrite*> bulk_;                      // the next bulk write, or none
  std::vector<std::shared_ptr<Submission>> begun_;  // deletions that have begun and wait for the write gate
  BelievedClock believed_;                          // decides which events have expired
  PacedRemovals removals_;
  uint32_t writes_since_bulk_ = 0;

  Mutex join_mutex_;
  std::thread thread_ WEIR_GUARDED_BY(join_mutex_);  // the last member, because it uses the others
};

}  // namespace weir
