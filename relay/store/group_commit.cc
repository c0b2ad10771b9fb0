#include "relay/store/group_commit.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

namespace weir {
namespace {

// The number of writes of submissions between two bulk writes, while submissions are queued. A bulk write takes as long
// as two of these writes, so the bulk writes take at most a third of the thread's time, and an import makes progress
// under any load.
constexpr uint32_t kWritesBetweenBulk = 4;
constexpr Work kBulkWrites = 2;  // a bulk write may do the work of this many other writes

// The time after which the gate is asked again whether waiting removals may continue.
constexpr std::chrono::milliseconds kLookAtGateEvery{5};

const char* const kShuttingDown = "shutting down";

}  // namespace

// One call of SaveBulk. It lives on the stack of the caller, which waits for it.
struct GroupCommit::BulkWrite {
  std::span<const Event> events;  // events that are left
  std::span<SaveResult> results;
  bool are_news = false;
  Status status;
  bool done = false;
};

// One call of Perform. It lives on the stack of the caller, which waits for it.
struct GroupCommit::Errand {
  const std::function<Status()>& change;
  Status status;
  bool done = false;
};

GroupCommit::GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits, const WallClock& clock,
                         PacedRemovals::Admit admit, const Clock& steady)
    : store_(store),
      done_(std::move(done)),
      limits_(limits),
      believed_(clock, steady),
      removals_(store, clock, steady, believed_, std::move(admit)) {
  // Reserves the memory now, so that no submission that was taken from the queue is lost for lack of memory.
  taken_.reserve(limits.max_events);
  events_.reserve(limits.max_events);
  results_.reserve(limits.max_events);
  thread_ = std::thread([this] { Run(); });
}

GroupCommit::~GroupCommit() { Stop(); }

void GroupCommit::Run() {
  removals_.GoOn();
  while (SleepUntilThereIsWork()) {
    RunErrands();
    if (!taken_.empty()) Write();
    if (!bulk_.empty()) WriteBulk();
    removals_.GoOn();
  }
  removals_.Stop(Status::Error(kShuttingDown));
  Refuse(std::exchange(begun_, {}), Status::Error(kShuttingDown));
}

// Takes the submissions of the next write, or a bulk write, or nothing if only errands or removals have to be done.
// Returns false after Stop, when no submission and no errand is left.
bool GroupCommit::SleepUntilThereIsWork() {
  const bool may_remove = removals_.MayGoOn();
  MutexLock lock(mutex_);
  if (may_remove) ResumeDeletions();
  const auto has_work = [this]() WEIR_REQUIRES(mutex_) {
    if (stopping_) return true;
    return !waiting_.empty() || !waiting_bulk_.empty() || !errands_.empty();
  };
  const bool wants_to_remove = removals_.owes() || !begun_.empty();
  if (!has_work() && !(wants_to_remove && may_remove)) {
    sleeping_ = true;
    const std::chrono::milliseconds a_while =
        wants_to_remove ? kLookAtGateEvery : std::chrono::seconds(PacedRemovals::kLookEverySeconds);
    wake_up_.wait_for(lock, a_while, has_work);
    sleeping_ = false;
  }
  if (waiting_.empty() && errands_.empty() && stopping_) {
    stats_.waiting -= begun_.size();  // Run refuses them
    return false;
  }
  if (BulkIsNext()) {
    bulk_.splice(bulk_.begin(), waiting_bulk_, waiting_bulk_.begin());
  } else {
    Take();
  }
  return true;
}

bool GroupCommit::BulkIsNext() const {
  return !waiting_bulk_.empty() && (waiting_.empty() || writes_since_bulk_ >= kWritesBetweenBulk);
}

void GroupCommit::Take() {
  size_t bytes = 0;
  Work work = 0;
  while (!waiting_.empty() && taken_.size() < limits_.max_events) {
    const Submission& next = *waiting_.Front();
    bytes += next.event.record()->size();
    work += next.work;
    if (!taken_.empty() && (bytes > limits_.max_bytes || work > limits_.max_work)) break;
    events_.push_back(next.event);
    results_.push_back(next.result);
    taken_.push_back(waiting_.Pop());
    --stats_.waiting;
  }
}

void GroupCommit::Write() {
  const Result<size_t> saved = FaultsAsErrors<size_t>(
      [this] { return store_.SaveSome(events_, believed_.NowSeconds(), limits_.max_work, results_); });
  for (size_t i = 0; i < taken_.size(); ++i) taken_[i]->result = results_[i];
  const size_t count = saved.ok() ? saved.value() : taken_.size();
  const Submissions settled = Submissions(taken_).first(count);
  {
    const MutexLock lock(mutex_);
    ++stats_.writes;
    if (!saved.ok()) stats_.failed += count;
    EndTurns(settled);
  }
  ++writes_since_bulk_;
  // If the author has few events, they are removed before the client gets its answer.
  if (saved.ok() && std::ranges::any_of(settled, [](const auto& s) { return s->result.vanishes; })) {
    removals_.OweVanishing();
    removals_.GoOnVanishing();
  }
  Tell(settled, saved.status());
  PutBack(count);
  taken_.clear();
  events_.clear();
  results_.clear();
}

// Charges the work of removals here, because it was not known before.
void GroupCommit::EndTurns(Submissions over) {
  for (const std::shared_ptr<Submission>& s : over)
    waiting_.End(s->party, s->work, s->work + s->result.removal - std::min(s->result.removal, s->paid));
}

// A submission that had a write is charged for that write; only then do others come before it.
void GroupCommit::PutBackOne(const std::shared_ptr<Submission>& s, bool had_a_write) {
  const Work pays = had_a_write ? limits_.max_work : 0;
  waiting_.PutBack(s->party, std::shared_ptr(s), s->work, pays);
  s->paid += pays;
}

// Puts back the submissions that the write did not settle.
void GroupCommit::PutBack(size_t settled) {
  size_t left = taken_.size();  // the submissions from this index on are back in the queue
  const Result<bool> all = FaultsAsErrors<bool>([&]() -> Result<bool> {
    const bool is_begun = settled < left && results_[settled].tags_done > 0;
    if (is_begun) removals_.Charge(limits_.max_work);
    const bool has_to_wait = is_begun && !removals_.MayGoOn();
    const MutexLock lock(mutex_);
    for (; left > settled; --left) {
      const bool is_first = left == settled + 1;
      if (is_first && is_begun && stopping_) return Status::Error(kShuttingDown);
      if (is_first && has_to_wait) {
        begun_.push_back(taken_[settled]);
      } else {
        PutBackOne(taken_[left - 1], is_first && is_begun && settled == 0);
      }
      ++stats_.waiting;
    }
    return true;
  });
  if (all.ok()) return;
  const Submissions refused = Submissions(taken_).subspan(settled, left - settled);
  {
    const MutexLock lock(mutex_);
    EndTurns(refused);
  }
  Refuse(refused, all.status());
}

void GroupCommit::WriteBulk() {
  BulkWrite* const write = bulk_.front();
  const Result<size_t> saved = FaultsAsErrors<size_t>([this, write] {
    const Work most = kBulkWrites * limits_.max_work;
    return write->are_news ? store_.SaveSome(write->events, believed_.NowSeconds(), most, write->results)
                           : store_.SaveSomeHistory(write->events, believed_.NowSeconds(), most, write->results);
  });
  writes_since_bulk_ = 0;
  if (saved.ok()) {
    if (std::ranges::any_of(write->results.first(saved.value()), &SaveResult::vanishes)) removals_.OweVanishing();
    NoteSettled(write->results.first(saved.value()));
    write->events = write->events.subspan(saved.value());
    write->results = write->results.subspan(saved.value());
  }
  const MutexLock lock(mutex_);
  if (saved.ok()) stats_.bulk_events += saved.value();
  if (saved.ok() && !write->events.empty() && !stopping_) return waiting_bulk_.splice(waiting_bulk_.begin(), bulk_);
  bulk_.clear();
  if (!saved.ok()) {
    ++stats_.failed_bulk_writes;
    return Settle(write, saved.status());
  }
  if (!write->events.empty()) return Settle(write, Status::Error(kShuttingDown));
  ++stats_.bulk_writes;
  Settle(write, Status());
}

// Once mutex_ is released, Perform may return and destroy its errand.
void GroupCommit::RunErrands() {
  MutexLock lock(mutex_);
  if (errands_.empty()) return;
  const std::vector<Errand*> errands = std::exchange(errands_, {});
  lock.unlock();
  for (Errand* errand : errands) errand->status = FaultsAsStatus([errand] { return errand->change(); });
  removals_.OweOthers();
  lock.lock();
  for (Errand* errand : errands) errand->done = true;
  errand_done_.notify_all();
}

// Once mutex_ is released, SaveBulk may return and destroy `write`.
void GroupCommit::Settle(BulkWrite* write, Status status) {
  write->status = std::move(status);
  write->done = true;
  bulk_settled_.notify_all();
}

// Deletions for which there is no memory now are resumed later.
void GroupCommit::ResumeDeletions() {
  (void)FaultsAsErrors<bool>([this]() WEIR_REQUIRES(mutex_) {
    for (; !begun_.empty(); begun_.pop_back()) PutBackOne(begun_.back(), true);
    return true;
  });
}

// `done_` should handle its own exceptions; one that it does not catch must not end the thread.
void GroupCommit::Tell(Submissions settled, const Status& status) const {
  if (settled.empty()) return;
  try {
    done_(settled, status);
  } catch (const std::exception& e) {
    spdlog::error("{} events were written or refused, but their senders could not be told: {}", settled.size(),
                  e.what());
  }
}

void GroupCommit::Refuse(Submissions submissions, const Status& why) {
  {
    const MutexLock lock(mutex_);
    stats_.failed += submissions.size();
  }
  Tell(submissions, why);
}

void GroupCommit::Submit(Submissions submissions) {
  if (submissions.empty()) return;
  MutexLock lock(mutex_);
  stats_.events += submissions.size();
  const Result<bool> all = FaultsAsErrors<bool>([&]() WEIR_REQUIRES(mutex_) -> Result<bool> {
    if (stopping_) return Status::Error(kShuttingDown);
    for (; !submissions.empty(); submissions = submissions.subspan(1)) {
      const Submission& next = *submissions.front();
      waiting_.Push(next.party, std::shared_ptr(submissions.front()), next.work);
      ++stats_.waiting;
    }
    return true;
  });
  const bool wake = !waiting_.empty() && std::exchange(sleeping_, false);
  lock.unlock();
  if (wake) wake_up_.notify_one();
  if (!all.ok()) Refuse(submissions, all.status());
}

Status GroupCommit::SaveBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news) {
  if (events.empty()) return Status();
  std::ranges::fill(results, SaveResult());
  BulkWrite write{.events = events, .results = results, .are_news = are_news, .status = {}};
  MutexLock lock(mutex_);
  if (stopping_) return Status::Error(kShuttingDown);
  waiting_bulk_.push_back(&write);
  if (std::exchange(sleeping_, false)) wake_up_.notify_one();
  bulk_settled_.wait(lock, [&write] { return write.done; });
  return std::move(write.status);
}

Status GroupCommit::Perform(const std::function<Status()>& change) {
  Errand errand{.change = change, .status = {}};
  MutexLock lock(mutex_);
  if (stopping_) return Status::Error(kShuttingDown);
  errands_.push_back(&errand);
  if (std::exchange(sleeping_, false)) wake_up_.notify_one();
  errand_done_.wait(lock, [&errand] { return errand.done; });
  return std::move(errand.status);
}

Result<uint64_t> GroupCommit::RemoveBulk(std::span<const EventId> ids, const std::atomic<bool>* cancelled) {
  if (ids.empty()) return uint64_t{0};
  std::optional<Result<uint64_t>> removed;
  const Status begun = Perform([&]() -> Status {
    removals_.RemoveByIds(ids, cancelled, [&](Result<uint64_t> result) {
      const MutexLock lock(mutex_);
      removed = std::move(result);
      errand_done_.notify_all();
    });
    return {};
  });
  if (!begun.ok()) return begun;
  MutexLock lock(mutex_);
  errand_done_.wait(lock, [&removed] { return removed.has_value(); });
  return *std::move(removed);
}

void GroupCommit::RemoveAlso(std::function<Result<OwedPiece>(Work most)> remove_piece) {
  // After Stop the thread does not call the earlier function any more.
  (void)Perform([&]() -> Status {
    removals_.RemoveAlso(std::move(remove_piece));
    return {};
  });
}

void GroupCommit::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (BulkWrite* write : std::exchange(waiting_bulk_, {})) Settle(write, Status::Error(kShuttingDown));
  }
  wake_up_.notify_one();
  const MutexLock lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

GroupCommitStats GroupCommit::Stats() const {
  const MutexLock lock(mutex_);
  GroupCommitStats stats = stats_;
  stats.bulk_waiting = waiting_bulk_.size();
  removals_.AddTo(&stats);
  return stats;
}

}  // namespace weir
