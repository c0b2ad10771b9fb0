// Pipeline: takes chunks, judges them on all workers, saves them in their order as bulk work that passes the gate, and
// reports them in their order.
//
//   Pipeline pipeline(parts, options, [](SettledChunk settled) { … });
//   pipeline.Push(std::move(chunk));   // …
//   pipeline.Flush();                  // at the end of the input
//
// Nothing is skipped: if a gate holds or refuses, in an emergency and on a full disk it waits and tries again, until
// Stop. The caller bounds how much it holds, as it knows what it pushed and what was settled.
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
  const EventStore* store = nullptr;   // events that it has are not verified again; null: a dry run
  AdaptiveLimiter* limiter = nullptr;  // null: no gate
  // Saves as EventStore::Save does, and marks what was settled before an error. Empty on a dry run; then every good
  // event counts as imported.
  std::function<Status(std::span<const Event> events, std::span<SaveResult> results)> save;
  std::function<void()> on_failure = {};  // called when Failure() has something to say
  Tracer* tracer = nullptr;
  std::string traceparent = {};  // the one of the request that brings the chunks
  const Clock& clock = Clock::System();
  const WallClock& wall_clock = WallClock::System();
};

struct PipelineOptions {
  JudgeOptions judge;
  Party party{.id = 1, .work_class = WorkClass::kBulk};
  // The size of one write; its bytes are those of the text. Larger writes cost less per event; smaller ones keep others
  // waiting for less. A chunk is not divided.
  size_t save_events = 2000;
  size_t save_bytes = 4 << 20;
  // A chunk waits at most this long for others to be saved with it.
  Duration linger = std::chrono::milliseconds(100);
};

class Pipeline {
 public:
  using OnSettled = std::function<void(SettledChunk settled)>;

  Pipeline(PipelineParts parts, const PipelineOptions& options, OnSettled on_settled);
  // Calls Stop.
  ~Pipeline();

  void Push(Chunk chunk);
  // Lets everything that was pushed be saved without waiting for more.
  void Flush();
  // Does work that is no write of events but may fail like one: repeats it in the same way, until Stop or a Failure.
  // Returns true if it was done.
  bool Repeat(const std::function<Status()>& work);
  // Gives up what is not saved, and returns when no task and no callback is left. Idempotent.
  void Stop();

  ImportConditions Conditions() const;
  // The error that waiting cannot mend (a damaged database); after it nothing more is settled. Ok until then.
  Status Failure() const;

 private:
  // Run on the pool.
  void Task(uint64_t place, Chunk chunk);
  std::unique_ptr<LineJudge> TakeJudge();
  void PutBack(std::unique_ptr<LineJudge> judge);

  // Run on the pipeline's own thread.
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
