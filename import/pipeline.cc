#include "import/pipeline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace weir {
namespace {

constexpr Duration kFirstRetryAfter = std::chrono::milliseconds(100);
constexpr Duration kLongestRetryAfter = std::chrono::seconds(2);
// An error that lasts this long ends the import, unless the disk is full.
constexpr Duration kLongestTrouble = std::chrono::seconds(60);

// Recognises ENOSPC and EDQUOT by the system's messages for them, and the disk budget of a relay by its setting. They
// last until there is room again.
bool IsDiskFull(const std::string& message) {
  const auto says = [&message](const char* text) { return message.find(text) != std::string::npos; };
  return says("No space left") || says("quota exceeded") || says("WEIR_MAX_DISK_GB");
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
    case SaveOutcome::kNoPlace:
    case SaveOutcome::kRefused:
      return LineOutcome::kRefused;
  }
  return LineOutcome::kInvalid;
}

// Takes the events out of the chunks, in their order. `per_chunk` receives the number of events of each chunk.
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

std::unique_ptr<LineJudge> Pipeline::TakeJudge() {
  const MutexLock lock(mutex_);
  if (stopping_) return nullptr;
  if (judges_.empty()) return std::make_unique<LineJudge>(options_.judge, parts_.store, parts_.wall_clock);
  std::unique_ptr<LineJudge> judge = std::move(judges_.back());
  judges_.pop_back();
  return judge;
}

void Pipeline::PutBack(std::unique_ptr<LineJudge> judge) {
  const MutexLock lock(mutex_);
  if (judge != nullptr) judges_.push_back(std::move(judge));
  if (--tasks_ == 0) idle_.notify_all();
}

// Judges a chunk. The chunk has a place in line_, for which the later chunks wait. So if an exception prevents the
// judgement, such as a lack of memory, the import fails.
void Pipeline::Task(uint64_t place, Chunk chunk) {
  std::unique_ptr<LineJudge> judge;
  try {
    judge = TakeJudge();
    if (judge != nullptr) line_.Judged(place, judge->Judge(std::move(chunk)));
  } catch (const std::exception& e) {
    Fail(Status::Error(std::string("a line cannot be looked at: ") + e.what()));
  }
  PutBack(std::move(judge));
}

void Pipeline::Run() {
  const BatchLimits limits{
      .max_events = options_.save_events, .max_bytes = options_.save_bytes, .linger = options_.linger};
  while (true) {
    std::vector<JudgedChunk> batch = line_.TakeBatch(limits);
    if (batch.empty()) return;
    Settle(std::move(batch));
  }
}

void Pipeline::Settle(std::vector<JudgedChunk> batch) {
  std::vector<size_t> per_chunk;
  const std::vector<Event> events = TakeEvents(&batch, &per_chunk);
  std::vector<SaveResult> results(events.size());
  if (!events.empty() && parts_.save && !Save(events, NewBytesOf(batch), results)) return;
  size_t next = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    SettledChunk& settled = batch[i].settled;
    for (size_t n = per_chunk[i]; n > 0; --n) ++settled.tally[OutcomeOf(results[next++].outcome)];
    on_settled_(std::move(settled));
  }
}

// Saves the events. Returns false after Stop or a Failure. After an error, saves only the events that have no result
// yet, because the others would count as duplicates.
bool Pipeline::Save(std::span<const Event> events, uint64_t new_bytes, std::span<SaveResult> results) {
  const Span span = BeginSpan(events.size(), new_bytes);
  Span wait = span.Child("bulk gate");
  std::optional<Admission> permit;
  if (!gate_.Enter(new_bytes, &permit)) return false;
  wait.End();
  return Repeat([&] {
    const TimePoint begin = parts_.clock.Now();
    const Span commit = span.Child("commit");
    Status saved = parts_.save(events, results);
    if (!saved.ok()) commit.Fail();
    const auto left = std::ranges::find(results, false, &SaveResult::settled);
    const auto settled = static_cast<size_t>(left - results.begin());
    events = events.subspan(settled);
    results = results.subspan(settled);
    if (saved.ok()) gate_.RecordLatency(parts_.clock.Now() - begin);
    return saved;
  });
}

Span Pipeline::BeginSpan(size_t events, uint64_t new_bytes) const {
  if (parts_.tracer == nullptr) return {};
  Span span = parts_.tracer->BeginServed("import batch", parts_.traceparent);
  span.Set("weir.class", "bulk");
  span.Set("weir.events", static_cast<int64_t>(events));
  span.Set("weir.bytes", static_cast<int64_t>(new_bytes));
  return span;
}

bool Pipeline::Repeat(const std::function<Status()>& work) {
  if (!gate_.Pause({})) return false;
  Duration pause = kFirstRetryAfter;
  std::optional<TimePoint> trouble_since;
  while (true) {
    const TimePoint begin = parts_.clock.Now();
    const Status done = work();
    if (!done.ok() && !gate_.Pause({})) return false;  // Stop has interrupted it
    SetProblem(done.message());
    if (done.ok()) return true;
    if (IsDiskFull(done.message())) {
      trouble_since.reset();
    } else if (!trouble_since) {
      trouble_since = begin;
    }
    if (trouble_since && !MayTryAgain(done, *trouble_since)) return false;
    if (!gate_.Pause(pause)) return false;
    pause = std::min(2 * pause, kLongestRetryAfter);
  }
}

bool Pipeline::MayTryAgain(const Status& failed, TimePoint trouble_since) {
  if (parts_.clock.Now() - trouble_since < kLongestTrouble) return true;
  Fail(failed);
  return false;
}

// Ends the import: the pipeline begins no further save, and drops all chunks.
void Pipeline::Fail(const Status& status) {
  {
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = status;
  }
  line_.Stop();
  gate_.Stop();
  if (parts_.on_failure) parts_.on_failure();
}

void Pipeline::SetProblem(const std::string& message) {
  const MutexLock lock(mutex_);
  if (problem_.empty() != message.empty()) {
    if (message.empty()) {
      spdlog::info("events are imported again");
    } else {
      spdlog::warn("the import waits, events cannot be stored: {}", message);
    }
  }
  problem_ = message;
}

Pipeline::Pipeline(PipelineParts parts, const PipelineOptions& options, OnSettled on_settled)
    : parts_(std::move(parts)),
      options_(options),
      on_settled_(std::move(on_settled)),
      gate_(parts_.limiter, options_.party, parts_.clock) {
  thread_ = std::thread([this] { Run(); });
}

Pipeline::~Pipeline() { Stop(); }

void Pipeline::Push(Chunk chunk) {
  {
    const MutexLock lock(mutex_);
    if (stopping_ || !failure_.ok()) return;
    ++tasks_;
  }
  const uint64_t place = line_.Enter();
  // A std::function has to be copyable.
  auto shared = std::make_shared<Chunk>(std::move(chunk));
  parts_.pool.Submit(Urgency::kFair, options_.party, [this, place, shared] { Task(place, std::move(*shared)); });
}

void Pipeline::Flush() { line_.Flush(); }

void Pipeline::Stop() {
  const MutexLock one(stop_mutex_);
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  line_.Stop();
  gate_.Stop();
  if (parts_.interrupt) parts_.interrupt();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  idle_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return tasks_ == 0; });
}

ImportConditions Pipeline::Conditions() const {
  ImportConditions conditions;
  gate_.Describe(&conditions);
  const MutexLock lock(mutex_);
  conditions.problem = problem_;
  return conditions;
}

Status Pipeline::Failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

}  // namespace weir
