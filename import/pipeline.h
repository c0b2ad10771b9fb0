// Pipeline: takes the chunks of an import (import/input/chunk.h), judges their lines on all workers of a pool, saves
// their events in the order of the lines, and reports each chunk in this order when it is settled (settled.h). The
// saves are bulk work, for which the pipeline asks the limiter for permission (bulk_gate.h).
//
//   Pipeline pipeline(parts, options, [](SettledChunk settled) { … });
//   pipeline.Push(std::move(chunk));   // …
//   pipeline.Flush();                  // at the end of the input
//
// The pipeline skips no line. It waits while the limiter delays a save, and tries again if the limiter refuses a save
// or if a save fails. Two kinds of error end the import (Failure): saves that fail for a minute, unless the disk is
// full, and an exception while a chunk is judged, such as a lack of memory. The caller must limit how much it pushes
// before earlier chunks are settled.
//
// Threads: one thread at a time calls Push, Flush and Repeat; any thread may call Conditions, Failure and Stop.
// `on_settled` runs on the pipeline's own thread; `on_failure` runs there, on a worker or in Repeat. Neither may call
// Stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "config/mutex.h"
#include "import/bulk_gate.h"
#include "import/chunk_line.h"
#include "import/line_judge.h"
#include "import/settled.h"
#include "relay/account/work_pool.h"
#include "relay/observe/trace/tracer.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// The objects that a pipeline uses; all must outlive it.
struct PipelineParts {
  WorkPool& pool;
  const EventStore* store = nullptr;   // signatures that it has are not verified again; null: a dry run
  AdaptiveLimiter* limiter = nullptr;  // null: writes need no permission
  // Saves events as EventStore::Save does. If it returns an error, it has set SaveResult::settled for the events that
  // it saved before the error. Empty on a dry run: then every event that is not rejected counts as imported.
  std::function<Status(std::span<const Event> events, std::span<SaveResult> results)> save;
  std::function<void()> interrupt = {};   // called by Stop; makes a `save` that waits for a plugin return
  std::function<void()> on_failure = {};  // called once, when Failure() becomes an error
  Tracer* tracer = nullptr;               // may be null
  std::string traceparent = {};           // the header field of the request that brings the chunks; may be empty
  const Clock& clock = Clock::System();
  const WallClock& wall_clock = WallClock::System();
};

struct PipelineOptions {
  JudgeOptions judge;
  Party party{.id = 1, .work_class = WorkClass::kBulk};
  // The largest write, in events and in bytes of text. A larger write costs less per event; other writers wait less for
  // a smaller one. The pipeline divides no chunk, so the write of a single chunk may be larger.
  size_t save_events = 2000;
  size_t save_bytes = 4 << 20;
  Duration linger = std::chrono::milliseconds(100);  // longest time for which a chunk waits to be saved with others
};

class Pipeline {
 public:
  using OnSettled = std::function<void(SettledChunk settled)>;

  Pipeline(PipelineParts parts, const PipelineOptions& options, OnSettled on_settled);
  // Calls Stop.
  ~Pipeline();

  // Takes a chunk and does not block. Drops it after Stop or a Failure.
  void Push(Chunk chunk);
  // Makes the pipeline save everything that was pushed as soon as it is judged, without waiting for further chunks.
  void Flush();
  // Calls `work` in the calling thread until it succeeds, with the same pauses as a save, and returns true. Returns
  // false after Stop or a Failure. Errors that last a minute become the Failure, unless the disk is full.
  bool Repeat(const std::function<Status()>& work);
  // Drops the chunks that are not saved, and blocks until no task and no callback runs any more; only a Repeat in
  // another thread may still call `on_failure`. May be called again.
  void Stop();

  ImportConditions Conditions() const;
  // Returns the error that ended the import, such as a damaged database, or success if there is none. After such an
  // error the pipeline begins no further save; chunks whose save has begun may still be settled.
  Status Failure() const;

 private:
  // These run on the pool.
  void Task(uint64_t place, Chunk chunk);
  std::unique_ptr<LineJudge> TakeJudge();
  void PutBack(std::unique_ptr<LineJudge> judge);

  // These run on the pipeline's own thread.
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

  mutable Mutex mutex_;
  Condition idle_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  size_t tasks_ WEIR_GUARDED_BY(mutex_) = 0;                                // tasks in the pool
  std::vector<std::unique_ptr<LineJudge>> judges_ WEIR_GUARDED_BY(mutex_);  // judges that no task uses
  std::string problem_ WEIR_GUARDED_BY(mutex_);  // error of the last save; empty: it succeeded
  Status failure_ WEIR_GUARDED_BY(mutex_);

  Mutex stop_mutex_;  // one Stop at a time
  std::thread thread_ WEIR_GUARDED_BY(stop_mutex_);
};

}  // namespace weir
