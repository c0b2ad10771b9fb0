#include "import/pipeline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "import/bulk_gate.h"
#include "import/chunk_line.h"

namespace weir {
namespace {

constexpr Duration kShortestPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(2);
// Something that lasts so long and is no full disk does not go by itself.
constexpr Duration kLongestTrouble = std::chrono::seconds(60);

// ENOSPC and EDQUOT, as the system calls them: these last until somebody makes room.
bool IsDiskFull(const std::string& message) {
  return message.find("No space left") != std::string::npos || message.find("quota exceeded") != std::string::npos;
}

LineOutcome OutcomeOf(SaveOutcome outcome) {
  switch (outcome) {
    case SaveOutcome::kSaved:
      return LineOutcome::kImported;
    case SaveOutcome::kDuplicate:
      return LineOutcome::kDuplicate;
    case SaveOutcome::kSuperseded:
      return LineOutcome::kReplaced;
    case SaveOutcome::kDeleted:
    case SaveOutcome::kVanished:
      return LineOutcome::kDeleted;
    case SaveOutcome::kExpired:
      return LineOutcome::kExpired;
  }
  return LineOutcome::kInvalid;
}

// The chunks' events, in their order; the chunks have none afterwards. `per_chunk` says how many each had.
std::vector<Event> TakeEvents(std::vector<JudgedChunk>* batch, std::vector<size_t>* per_chunk) {
  std::vector<Event> events;
  for (JudgedChunk& chunk : *batch) {
    per_chunk->push_back(chunk.events.size());
    std::ranges::move(chunk.events, std::back_inserter(events));
    chunk.events.clear();
  }
  return events;
}

uint64_t NewBytesOf(const std::vector<JudgedChunk>& batch) {
  uint64_t bytes = 0;
  for (const JudgedChunk& chunk : batch) bytes += chunk.new_bytes;
  return bytes;
}

}  // namespace

struct Pipeline::Rep {
  Rep(PipelineParts p, const PipelineOptions& o, OnSettled s)
      : parts(std::move(p)), options(o), on_settled(std::move(s)), gate(parts.limiter, options.party, parts.clock) {}

  // On the pool.
  void Task(uint64_t place, Chunk chunk);
  std::unique_ptr<LineJudge> TakeJudge();
  void PutBack(std::unique_ptr<LineJudge> judge);

  // On the pipeline's thread.
  void Run();
  void Settle(std::vector<JudgedChunk> batch);
  bool Save(std::span<const Event> events, uint64_t new_bytes, std::span<SaveResult> results);
  // On either side's.
  bool Repeat(const std::function<Status()>& work);
  bool MayTryAgain(const Status& failed, TimePoint trouble_since);

  void Fail(const Status& status);
  void SetProblem(const std::string& message);

  const PipelineParts parts;
  const PipelineOptions options;
  const OnSettled on_settled;
  BulkGate gate;
  ChunkLine line;

  mutable std::mutex mutex;
  std::condition_variable idle;
  bool stopping = false;
  size_t tasks = 0;  // in the pool
  std::vector<std::unique_ptr<LineJudge>> judges;
  std::string problem;
  Status failure;

  std::mutex stop_mutex;  // one Stop at a time
  std::thread thread;
};

std::unique_ptr<LineJudge> Pipeline::Rep::TakeJudge() {
  const std::lock_guard lock(mutex);
  if (stopping) return nullptr;
  if (judges.empty()) return std::make_unique<LineJudge>(options.judge, parts.store, parts.wall_clock);
  std::unique_ptr<LineJudge> judge = std::move(judges.back());
  judges.pop_back();
  return judge;
}

void Pipeline::Rep::PutBack(std::unique_ptr<LineJudge> judge) {
  const std::lock_guard lock(mutex);
  if (judge != nullptr) judges.push_back(std::move(judge));
  if (--tasks == 0) idle.notify_all();
}

// The line is in order: one chunk that cannot be judged, for want of memory, ends the import.
void Pipeline::Rep::Task(uint64_t place, Chunk chunk) {
  std::unique_ptr<LineJudge> judge;
  try {
    judge = TakeJudge();
    if (judge != nullptr) line.Judged(place, judge->Judge(std::move(chunk)));
  } catch (const std::exception& e) {
    Fail(Status::Error(std::string("a line cannot be looked at: ") + e.what()));
  }
  PutBack(std::move(judge));
}

void Pipeline::Rep::Run() {
  const BatchLimits limits{
      .max_events = options.save_events, .max_bytes = options.save_bytes, .linger = options.linger};
  while (true) {
    std::vector<JudgedChunk> batch = line.TakeBatch(limits);
    if (batch.empty()) return;
    Settle(std::move(batch));
  }
}

void Pipeline::Rep::Settle(std::vector<JudgedChunk> batch) {
  std::vector<size_t> per_chunk;
  const std::vector<Event> events = TakeEvents(&batch, &per_chunk);
  std::vector<SaveResult> results(events.size());
  if (!events.empty() && parts.save && !Save(events, NewBytesOf(batch), results)) return;
  size_t next = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    SettledChunk& settled = batch[i].settled;
    for (size_t n = per_chunk[i]; n > 0; --n) ++settled.tally[OutcomeOf(results[next++].outcome)];
    on_settled(std::move(settled));
  }
}

// False: stopped, or it cannot be. Nothing of it is saved then.
bool Pipeline::Rep::Save(std::span<const Event> events, uint64_t new_bytes, std::span<SaveResult> results) {
  std::optional<Admission> permit;
  if (!gate.Enter(new_bytes, &permit)) return false;
  return Repeat([&] {
    const TimePoint begin = parts.clock.Now();
    Status saved = parts.save(events, results);
    if (saved.ok()) gate.RecordLatency(parts.clock.Now() - begin);
    return saved;
  });
}

bool Pipeline::Rep::Repeat(const std::function<Status()>& work) {
  Duration pause = kShortestPause;
  std::optional<TimePoint> trouble_since;
  while (true) {
    const TimePoint begin = parts.clock.Now();
    const Status done = work();
    SetProblem(done.message());
    if (done.ok()) return true;
    if (IsDiskFull(done.message())) {
      trouble_since.reset();
    } else if (!trouble_since) {
      trouble_since = begin;
    }
    if (trouble_since && !MayTryAgain(done, *trouble_since)) return false;
    if (!gate.Pause(pause)) return false;
    pause = std::min(2 * pause, kLongestPause);
  }
}

bool Pipeline::Rep::MayTryAgain(const Status& failed, TimePoint trouble_since) {
  if (parts.clock.Now() - trouble_since < kLongestTrouble) return true;
  Fail(failed);
  return false;
}

// Nothing is settled any more; what comes is dropped.
void Pipeline::Rep::Fail(const Status& status) {
  {
    const std::lock_guard lock(mutex);
    if (!failure.ok()) return;
    failure = status;
  }
  line.Stop();
  gate.Stop();
  if (parts.on_failure) parts.on_failure();
}

void Pipeline::Rep::SetProblem(const std::string& message) {
  const std::lock_guard lock(mutex);
  if (problem.empty() != message.empty()) {
    if (message.empty()) {
      spdlog::info("events are imported again");
    } else {
      spdlog::warn("the import waits, events cannot be stored: {}", message);
    }
  }
  problem = message;
}

Pipeline::Pipeline(PipelineParts parts, const PipelineOptions& options, OnSettled on_settled)
    : rep_(std::make_unique<Rep>(std::move(parts), options, std::move(on_settled))) {
  rep_->thread = std::thread([rep = rep_.get()] { rep->Run(); });
}

Pipeline::~Pipeline() { Stop(); }

void Pipeline::Push(Chunk chunk) {
  {
    const std::lock_guard lock(rep_->mutex);
    if (rep_->stopping || !rep_->failure.ok()) return;
    ++rep_->tasks;
  }
  const uint64_t place = rep_->line.Enter();
  // A std::function has to be copyable.
  auto shared = std::make_shared<Chunk>(std::move(chunk));
  rep_->parts.pool.Submit(Urgency::kFair, rep_->options.party,
                          [rep = rep_.get(), place, shared] { rep->Task(place, std::move(*shared)); });
}

void Pipeline::Flush() { rep_->line.Flush(); }

bool Pipeline::Repeat(const std::function<Status()>& work) { return rep_->gate.Pause({}) && rep_->Repeat(work); }

void Pipeline::Stop() {
  const std::lock_guard one(rep_->stop_mutex);
  {
    const std::lock_guard lock(rep_->mutex);
    rep_->stopping = true;
  }
  rep_->line.Stop();
  rep_->gate.Stop();
  if (rep_->thread.joinable()) rep_->thread.join();
  std::unique_lock lock(rep_->mutex);
  rep_->idle.wait(lock, [this] { return rep_->tasks == 0; });
}

ImportConditions Pipeline::Conditions() const {
  ImportConditions conditions;
  rep_->gate.Describe(&conditions);
  const std::lock_guard lock(rep_->mutex);
  conditions.problem = rep_->problem;
  return conditions;
}

Status Pipeline::Failure() const {
  const std::lock_guard lock(rep_->mutex);
  return rep_->failure;
}

}  // namespace weir
