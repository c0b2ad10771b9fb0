// ImportRun: one import from start to end. It takes chunks from the Source (import/input/source.h), pushes them to the
// Destination (import/destination.h), and keeps the rejects file, the checkpoint and the counts.
//
//   ImportRun run(parts, options);
//   auto destination = Open…Destination(…, [&run](SettledChunk settled) { run.OnSettled(settled); });
//   Status status = run.Run(*source, *destination);
//
// Threads: one thread calls Run, a thread of the destination calls OnSettled, and any thread may call Stop and State.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "import/destination.h"
#include "import/input/source.h"
#include "import/run/checkpoint.h"
#include "import/run/rejects_file.h"

namespace weir {

struct ImportRunParts {
  RejectsFile* rejects = nullptr;              // null: rejected lines are not kept
  const CheckpointFile* checkpoint = nullptr;  // null: no checkpoint is kept
  const Clock& clock = Clock::System();
};

struct ImportRunOptions {
  std::vector<std::string> inputs;  // the names that the user gave
  Checkpoint from;                  // the place to begin at, and the paths and the database for later checkpoints
  uint64_t file_bytes = 0;          // bytes of the input on disk before that place; 0: not known
  Duration checkpoint_interval = std::chrono::seconds(1);
  std::chrono::milliseconds retry{500};  // pause before a failed write of the rejects file is repeated
};

// How much of the inputs is settled (import/settled.h).
struct ImportRunState {
  uint32_t input = 0;       // index of the input in which `place` is
  Place place;              // the end of the last settled line
  uint64_t file_bytes = 0;  // bytes of that input on disk that are settled
  Tally tally;
  bool begun = false;   // true once a chunk of this run is settled
  std::string problem;  // why the rejects file cannot be written at present; empty: no problem
};

class ImportRun {
 public:
  ImportRun(const ImportRunParts& parts, ImportRunOptions options);

  // Imports everything. Returns success when all lines are settled and the checkpoint is removed, and an error if it
  // cannot be removed. If the import ends before that, writes the place up to which all lines are settled into the
  // checkpoint (checkpoint_problem() says whether this failed), and returns the error of the source, the error of the
  // destination, or "stopped".
  Status Run(Source& source, Destination& destination);
  // Makes Run return soon. May be called before Run.
  void Stop();

  // Takes a chunk that the destination has settled. Writes the chunk's rejected lines to the rejects file, and after an
  // error tries again until the write succeeds or Stop is called. Then writes a checkpoint if `checkpoint_interval` has
  // passed since the last. Ignores the chunk if Run has ended.
  void OnSettled(const SettledChunk& settled);
  ImportRunState State() const;
  // Returns true if the error that Run returned came from the source.
  bool input_failed() const { return input_failed_; }
  // Returns why the last checkpoint could not be written; empty: it was written. If it was not, the checkpoint on disk
  // is an earlier one.
  std::string checkpoint_problem() const;

 private:
  Status Feed(Source& source, Destination& destination);
  bool WriteRejects() WEIR_REQUIRES(settling_);
  Status Close(bool whole);
  void Count(const SettledChunk& settled) WEIR_REQUIRES(settling_);
  Status WriteCheckpoint() WEIR_REQUIRES(settling_);
  void TellCheckpoint(const Status& written) WEIR_REQUIRES(settling_);
  // Calls `write` until it succeeds or the run is stopped.
  Status Insist(const std::function<Status()>& write);
  void Attach(Source* source, Destination* destination);
  bool stopped() const;

  const ImportRunParts parts_;
  const ImportRunOptions options_;

  bool input_failed_ = false;  // used by the thread that calls Run

  // OnSettled holds this mutex, and Run does before and after the import. A destination that was stopped may still call
  // OnSettled.
  mutable Mutex settling_;
  // The state after the last settled line, except the tail.
  Checkpoint checkpoint_ WEIR_GUARDED_BY(settling_);
  Tail tail_ WEIR_GUARDED_BY(settling_);  // bytes before the place of checkpoint_
  // tail_ plus the settled pieces of a long line whose last piece is not settled yet.
  Tail open_tail_ WEIR_GUARDED_BY(settling_);
  uint32_t tail_input_ WEIR_GUARDED_BY(settling_) = 0;  // index of the input of the tails
  TimePoint next_checkpoint_ WEIR_GUARDED_BY(settling_);
  // True if OnSettled ignores further chunks: rejects could not be written, or Run is done.
  bool over_ WEIR_GUARDED_BY(settling_) = false;
  std::string checkpoint_problem_ WEIR_GUARDED_BY(settling_);

  mutable Mutex mutex_;
  Condition changed_;
  ImportRunState state_ WEIR_GUARDED_BY(mutex_);
  bool stop_ WEIR_GUARDED_BY(mutex_) = false;

  // This is a mutex of its own, because a destination's Stop may wait until OnSettled returns.
  Mutex feeding_;
  Source* source_ WEIR_GUARDED_BY(feeding_) = nullptr;  // null unless Run is reading and pushing
  Destination* destination_ WEIR_GUARDED_BY(feeding_) = nullptr;
};

}  // namespace weir
