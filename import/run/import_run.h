// ImportRun: one import from its begin to its end: from the Source to the Destination, and what is kept of it on the
// way: the rejected lines, the checkpoint, the counts.
//
//   ImportRun run(parts, options);
//   auto destination = Open…Destination(…, [&run](SettledChunk settled) { run.OnSettled(settled); });
//   Status status = run.Run(*source, *destination);
//
// Threads: Run from one, OnSettled from the destination's, Stop and State from any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "import/destination.h"
#include "import/input/source.h"
#include "import/run/checkpoint.h"
#include "import/run/rejects_file.h"

namespace weir {

struct ImportRunParts {
  RejectsFile* rejects = nullptr;              // null: they are not kept
  const CheckpointFile* checkpoint = nullptr;  // null: none is kept
  const Clock& clock = Clock::System();
};

struct ImportRunOptions {
  std::vector<std::string> inputs;  // as the user named them
  Checkpoint from;                  // where it begins; `inputs` and `rejects` are taken from here into every checkpoint
  uint64_t file_bytes = 0;          // before that, on disk, as far as it is known
  Duration checkpoint_interval = std::chrono::seconds(1);
  std::chrono::milliseconds retry{500};  // of a rejects file that cannot be written
};

// What is settled.
struct ImportRunState {
  uint32_t input = 0;
  Place place;              // between two lines
  uint64_t file_bytes = 0;  // of that input, as it is on disk
  Tally tally;
  bool begun = false;   // something of this run is settled
  std::string problem;  // why it waits, where that is not the destination's affair
};

class ImportRun {
 public:
  ImportRun(const ImportRunParts& parts, ImportRunOptions options);

  // Returns when all is settled and no checkpoint is left, or with the error: a damaged input, what the destination
  // said, or "stopped". Then what came before is settled as far as it could be, and the checkpoint says so.
  Status Run(Source& source, Destination& destination);
  // Run returns soon. May be called before it.
  void Stop();

  void OnSettled(const SettledChunk& settled);
  ImportRunState State() const;
  // What Run returned was said by the source.
  bool input_failed() const { return input_failed_; }
  // The checkpoint is not where Run ended; empty where it is.
  const std::string& checkpoint_problem() const { return checkpoint_problem_; }

 private:
  Status Feed(Source& source, Destination& destination);
  bool WriteRejects();
  Status Close(bool whole);
  void Count(const SettledChunk& settled);
  Status WriteCheckpoint();
  void TellCheckpoint(const Status& written);
  // Again and again until it succeeds or the run is stopped.
  Status Insist(const std::function<Status()>& write);
  void Attach(Source* source, Destination* destination);
  bool stopped() const;

  const ImportRunParts parts_;
  const ImportRunOptions options_;

  // Of OnSettled, and of Run before and after. A destination that was stopped may be within OnSettled still.
  std::mutex settling_;
  Checkpoint checkpoint_;  // as of the last line that is settled, but for the tail
  Tail tail_;              // before it
  Tail open_tail_;         // the same, and the begin of a long line that is not settled to its end
  uint32_t tail_input_ = 0;
  TimePoint next_checkpoint_;
  bool over_ = false;  // a reject could not be written, or Run is done: nothing that comes counts
  std::string checkpoint_problem_;
  bool input_failed_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ImportRunState state_;
  bool stop_ = false;

  // A lock of their own: a destination that stops may wait for OnSettled to return.
  std::mutex feeding_;
  Source* source_ = nullptr;  // while Run is feeding
  Destination* destination_ = nullptr;
};

}  // namespace weir
