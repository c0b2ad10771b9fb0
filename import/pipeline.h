// Pipeline: chunks in, in any number at once; judged on all workers; saved in their order, gated as bulk work; told in
// their order.
//
//   Pipeline pipeline(parts, options, [](SettledChunk settled) { … });
//   pipeline.Push(std::move(chunk));   // …
//   pipeline.Flush();                  // at the end of the input
//
// Nothing is skipped: a gate that holds or refuses, an emergency and a full disk make it wait and try again, until
// Stop. What it holds is bounded by whoever pushes: it knows what was pushed and what was settled.
//
// Threads: Push, Flush and Repeat from one thread, Conditions and Stop from any. `on_settled` runs on the pipeline's
// own thread, `on_failure` there or on a worker; neither may stop it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "import/bulk_gate.h"
#include "import/chunk_line.h"
#include "import/line_judge.h"
#include "import/settled.h"
#include "relay/account/work_pool.h"
#include "relay/trace/tracer.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct PipelineParts {
  WorkPool& pool;
  const EventStore* store = nullptr;   // what it has need not be verified again; null: a dry run
  AdaptiveLimiter* limiter = nullptr;  // null: ungated
  // Saves as EventStore::Save does, and marks what was settled before an error; empty: a dry run, in which all that is
  // good counts as imported.
  std::function<Status(std::span<const Event> events, std::span<SaveResult> results)> save;
  std::function<void()> on_failure = {};  // Failure() has something to say
  Tracer* tracer = nullptr;
  std::string traceparent = {};  // of the request that brings the chunks
  const Clock& clock = Clock::System();
  const WallClock& wall_clock = WallClock::System();
};

struct PipelineOptions {
  JudgeOptions judge;
  Party party{.id = 1, .work_class = WorkClass::kBulk};
  // Of one write, the bytes of the text. Larger ones cost less an event; smaller ones keep others waiting for less. A
  // chunk is not divided.
  size_t save_events = 2000;
  size_t save_bytes = 4 << 20;
  // A chunk waits at most so long for company.
  Duration linger = std::chrono::milliseconds(100);
};

class Pipeline {
 public:
  using OnSettled = std::function<void(SettledChunk settled)>;

  Pipeline(PipelineParts parts, const PipelineOptions& options, OnSettled on_settled);
  // Stops.
  ~Pipeline();

  void Push(Chunk chunk);
  // What was pushed is saved without waiting for more.
  void Flush();
  // What is no write of events, but may fail as one: repeated like these, until Stop or a Failure. Whether it was done.
  bool Repeat(const std::function<Status()>& work);
  // Gives up what is not saved and returns when no task and no call is left. Idempotent.
  void Stop();

  ImportConditions Conditions() const;
  // What cannot be mended by waiting (a damaged database): nothing more will be settled. Ok until then.
  Status Failure() const;

 private:
  // On the pool.
  void Task(uint64_t place, Chunk chunk);
  std::unique_ptr<LineJudge> TakeJudge();
  void PutBack(std::unique_ptr<LineJudge> judge);

  // On its own thread.
  void Run();
  void Settle(std::vector<JudgedChunk> batch);
  bool Save(std::span<const Event> events, uint64_t new_bytes, std::span<SaveResult> results);
  Span BeginSpan(size_t events, uint64_t new_bytes) const;

  bool MayTryAgain(const Status& failed, TimePoint trouble_since);
  void Fail(const Status& status);
  void SetProblem(const std::string& message);

  const PipelineParts parts_;
  const PipelineOptions options_;
  const OnSettled on_settled_;
  BulkGate gate_;
  ChunkLine line_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool stopping_ = false;
  size_t tasks_ = 0;  // in the pool
  std::vector<std::unique_ptr<LineJudge>> judges_;
  std::string problem_;
  Status failure_;

  std::mutex stop_mutex_;  // one Stop at a time
  std::thread thread_;
};

}  // namespace weir
