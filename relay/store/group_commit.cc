#include "relay/store/group_commit.h"

#include <deque>
#include <utility>

namespace weir {
namespace {

// Expired events are neither served nor saved; how long they still take up room matters to nobody.
constexpr uint64_t kSweepEverySeconds = 60;
// Of one piece of a sweep: as long as a small write, so that whoever comes meanwhile waits no longer than for one.
constexpr uint32_t kSweepPiece = 256;
// Of others between two bulk writes, while others wait: a bulk write is as long as one of theirs, so they lose a fifth
// of the thread at most, and an import moves on beside any load.
constexpr uint32_t kWritesBetweenBulk = 4;

const char* const kShuttingDown = "shutting down";

// One SaveBulk. It lives on the stack of its caller, who waits for it.
struct BulkWrite {
  std::span<const Event> events;
  std::span<SaveResult> results;
  Status status;
  bool done = false;
};

}  // namespace

struct GroupCommit::Rep {
  Rep(EventStore& s, Done d, const GroupCommitLimits& l, const WallClock& c)
      : store(s), done(std::move(d)), limits(l), clock(c), last_sweep(c.NowSeconds()) {}

  void Run();
  bool SleepUntilThereIsWork();
  void Take();
  bool BulkIsNext() const;
  void Write();
  void WriteBulk();
  void Settle(BulkWrite* write, Status status);
  bool SweepIsDue();
  void SweepPiece();
  void Refuse(std::span<Submission> submissions) const;

  EventStore& store;
  const Done done;
  const GroupCommitLimits limits;
  const WallClock& clock;

  std::mutex mutex;
  std::condition_variable wake_up;
  std::condition_variable bulk_settled;
  std::deque<Submission> waiting;
  std::deque<BulkWrite*> waiting_bulk;
  bool sleeping = false;
  bool stopping = false;
  GroupCommitStats stats;

  std::mutex join_mutex;
  std::thread thread;

  // The commit thread's own.
  std::vector<Event> events;
  std::vector<std::shared_ptr<void>> tickets;
  std::vector<SaveResult> results;
  std::vector<SettledEvent> settled;
  BulkWrite* bulk = nullptr;  // to be written now
  uint32_t writes_since_bulk = 0;
  uint64_t last_sweep;
  bool sweeping = false;
};

void GroupCommit::Rep::Run() {
  while (SleepUntilThereIsWork()) {
    if (!events.empty()) Write();
    if (bulk != nullptr) WriteBulk();
    if (SweepIsDue()) SweepPiece();
  }
}

// Takes the next write's submissions, or a bulk write, or nothing where a sweep is to go on. False when there is
// nothing left to do.
bool GroupCommit::Rep::SleepUntilThereIsWork() {
  std::unique_lock lock(mutex);
  const auto has_work = [this] { return !waiting.empty() || !waiting_bulk.empty() || stopping; };
  if (!has_work() && !sweeping) {
    sleeping = true;
    wake_up.wait_for(lock, std::chrono::seconds(kSweepEverySeconds), has_work);
    sleeping = false;
  }
  if (waiting.empty() && stopping) return false;
  if (BulkIsNext()) {
    bulk = waiting_bulk.front();
    waiting_bulk.pop_front();
  } else {
    Take();
  }
  return true;
}

bool GroupCommit::Rep::BulkIsNext() const {
  return !waiting_bulk.empty() && (waiting.empty() || writes_since_bulk >= kWritesBetweenBulk);
}

void GroupCommit::Rep::Take() {
  size_t bytes = 0;
  while (!waiting.empty() && events.size() < limits.max_events) {
    Submission& next = waiting.front();
    bytes += next.event.record()->size();
    if (bytes > limits.max_bytes && !events.empty()) break;
    events.push_back(std::move(next.event));
    tickets.push_back(std::move(next.ticket));
    waiting.pop_front();
  }
  stats.waiting = waiting.size();
}

void GroupCommit::Rep::Write() {
  results.assign(events.size(), SaveResult{});
  const Status status = store.Save(events, clock.NowSeconds(), results);
  for (size_t i = 0; i < events.size(); ++i)
    settled.push_back({{std::move(events[i]), std::move(tickets[i])}, results[i]});
  {
    const std::lock_guard lock(mutex);
    ++stats.writes;
    if (!status.ok()) stats.failed += settled.size();
  }
  ++writes_since_bulk;
  done(settled, status);
  settled.clear();
  events.clear();
  tickets.clear();
}

void GroupCommit::Rep::WriteBulk() {
  Status status = store.Save(bulk->events, clock.NowSeconds(), bulk->results);
  writes_since_bulk = 0;
  const std::lock_guard lock(mutex);
  if (status.ok()) {
    ++stats.bulk_writes;
    stats.bulk_events += bulk->events.size();
  } else {
    ++stats.failed_bulk_writes;
  }
  Settle(std::exchange(bulk, nullptr), std::move(status));
}

// Under the mutex: once it is let go the write may be gone with its caller.
void GroupCommit::Rep::Settle(BulkWrite* write, Status status) {
  write->status = std::move(status);
  write->done = true;
  bulk_settled.notify_all();
}

bool GroupCommit::Rep::SweepIsDue() {
  const uint64_t now = clock.NowSeconds();
  // A clock that was set back must not put the next sweep off by as much.
  if (now >= last_sweep + kSweepEverySeconds || now < last_sweep) {
    last_sweep = now;
    sweeping = true;
  }
  return sweeping;
}

void GroupCommit::Rep::SweepPiece() {
  const Result<uint64_t> removed = store.SweepExpired(clock.NowSeconds(), kSweepPiece);
  sweeping = removed.ok() && removed.value() >= kSweepPiece;
  const std::lock_guard lock(mutex);
  if (!removed.ok()) {
    ++stats.failed_sweeps;
    return;
  }
  stats.expired_removed += removed.value();
  if (!sweeping) ++stats.sweeps;
}

void GroupCommit::Rep::Refuse(std::span<Submission> submissions) const {
  std::vector<SettledEvent> refused;
  refused.reserve(submissions.size());
  for (Submission& submission : submissions) refused.push_back({std::move(submission), {}});
  done(refused, Status::Error(kShuttingDown));
}

GroupCommit::GroupCommit(EventStore& store, Done done, const GroupCommitLimits& limits, const WallClock& clock)
    : rep_(std::make_unique<Rep>(store, std::move(done), limits, clock)) {
  rep_->thread = std::thread([rep = rep_.get()] { rep->Run(); });
}

GroupCommit::~GroupCommit() { Stop(); }

void GroupCommit::Submit(std::span<Submission> submissions) {
  if (submissions.empty()) return;
  std::unique_lock lock(rep_->mutex);
  rep_->stats.events += submissions.size();
  if (rep_->stopping) {
    rep_->stats.failed += submissions.size();
    lock.unlock();
    return rep_->Refuse(submissions);
  }
  for (Submission& submission : submissions) rep_->waiting.push_back(std::move(submission));
  rep_->stats.waiting = rep_->waiting.size();
  const bool wake = std::exchange(rep_->sleeping, false);
  lock.unlock();
  if (wake) rep_->wake_up.notify_one();
}

Status GroupCommit::SaveBulk(std::span<const Event> events, std::span<SaveResult> results) {
  if (events.empty()) return Status();
  BulkWrite write{.events = events, .results = results, .status = {}};
  std::unique_lock lock(rep_->mutex);
  if (rep_->stopping) return Status::Error(kShuttingDown);
  rep_->waiting_bulk.push_back(&write);
  if (std::exchange(rep_->sleeping, false)) rep_->wake_up.notify_one();
  rep_->bulk_settled.wait(lock, [&write] { return write.done; });
  return std::move(write.status);
}

void GroupCommit::Stop() {
  {
    const std::lock_guard lock(rep_->mutex);
    rep_->stopping = true;
    for (BulkWrite* write : std::exchange(rep_->waiting_bulk, {})) rep_->Settle(write, Status::Error(kShuttingDown));
  }
  rep_->wake_up.notify_one();
  const std::lock_guard lock(rep_->join_mutex);
  if (rep_->thread.joinable()) rep_->thread.join();
}

GroupCommitStats GroupCommit::Stats() const {
  const std::lock_guard lock(rep_->mutex);
  GroupCommitStats stats = rep_->stats;
  stats.bulk_waiting = rep_->waiting_bulk.size();
  return stats;
}

}  // namespace weir
