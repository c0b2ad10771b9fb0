// GroupCommit: one thread that saves what many bring, in one write for all that waits.
//
// The longer a write takes, the more wait and the larger the next one gets: under load the cost of making it durable is
// shared, without load nobody waits for company. Addresses take turns by work, then their connections
// (relay/account/turns.h), and a write is bounded in events, bytes and work, what comes in and what goes out: whatever
// others bring, and however many they are, an address that brings little waits for two writes at most. What takes
// longer, a large deletion, goes on in the writes that follow, when the others have had as much. Between the writes
// goes, piece by piece, what the store owes: to those who asked to vanish, and what expired. What is removed in pieces
// passes the write gate as bulk work, so that the engine keeps up with it.
//
// Whoever submits is told after the write; those of one party in the order of their submission, but for a deletion that
// takes longer.
//
// Threads: Submit from any thread. `done` runs on the commit thread, once for every write, with all that it settled:
// hand over and return. What it can hold is bounded by the callers: each has a window of its own
// (relay/protocol/client.h).
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

// An event on its way into the store. Who submits it derives from this what has to come back with the outcome.
struct Submission {
  explicit Submission(Event e, const Party& p = {}, Work w = 0) : event(std::move(e)), party(p), work(w) {}
  virtual ~Submission() = default;

  const Event event;
  const Party party;
  const Work work;    // SavingWorkOf(event)
  SaveResult result;  // once it is settled, where the write's status is ok
  Work paid = 0;      // of what is removed for it, where that takes several writes
};

// Of one write. With work for eight turns, six hundred events of the usual seven entries are one write, and three of
// 2,000 tags.
struct GroupCommitLimits {
  size_t max_events = 2048;
  size_t max_bytes = 1024 * 1024;
  Work max_work = 8 * kTurnWork;
};

struct GroupCommitStats {
  uint64_t writes = 0;
  uint64_t events = 0;       // submitted
  uint64_t failed = 0;       // whose write failed
  uint64_t waiting = 0;      // now; without bulk
  uint64_t bulk_writes = 0;  // SaveBulk's that went well; none of the above counts them
  uint64_t bulk_events = 0;  // of these, duplicates and all
  uint64_t failed_bulk_writes = 0;
  uint64_t bulk_waiting = 0;   // callers of SaveBulk, now; not the one whose write goes on
  uint64_t sweeps = 0;         // times that all was done that the store owed
  uint64_t failed_sweeps = 0;  // pieces of it that failed; they are tried again
  uint64_t expired_removed = 0;
  uint64_t vanished_removed = 0;
};

class GroupCommit {
 public:
  using Submissions = std::span<const std::shared_ptr<Submission>>;
  // `write_status` is of the whole write: on error none of `settled` was saved and their results mean nothing.
  using Done = std::function<void(Submissions settled, const Status& write_status)>;

  GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits = {},
              const WallClock& clock = WallClock::System(), PacedRemovals::Admit admit = {},
              const Clock& steady = Clock::System());
  // Saves what waits first.
  ~GroupCommit();

  // After Stop the submissions are told at once as failed ("shutting down"), on the thread that submits.
  void Submit(Submissions submissions);
  // Saves these in writes of their own: when nobody else waits, or after a few writes of others. Returns when all is
  // done; several callers come in turn. The error is the store's, or "shutting down" where Stop came before the end;
  // what was written before it is settled. For bulk work, which is not told to `done`; from any thread but the commit
  // thread. Callers have to be back before this ends.
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results);
  // Saves what was submitted, tells it, and ends the thread; bulk writes that wait are refused, as are deletions that
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

  // The commit thread's own.
  std::vector<std::shared_ptr<Submission>> taken_;
  std::vector<Event> events_;                       // theirs
  std::vector<SaveResult> results_;                 // theirs, of the parts that are done
  std::list<BulkWrite*> bulk_;                      // to be written now: one or none
  std::vector<std::shared_ptr<Submission>> begun_;  // deletions that wait for the gate
  PacedRemovals removals_;
  uint32_t writes_since_bulk_ = 0;

  std::mutex join_mutex_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weir
