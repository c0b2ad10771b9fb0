// ImportRun: one import from start to end. Brings chunks from the Source to the Destination, and keeps the rejected
// lines, the checkpoint and the counts.
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
  std::vector<std::string> inputs;  // the names that the user gave
  Checkpoint from;                  // the start; `inputs` and `rejects` are taken from here into every checkpoint
  uint64_t file_bytes = 0;          // bytes on disk before that, if known
  Duration checkpoint_interval = std::chrono::seconds(1);
  std::chrono::milliseconds retry{500};  // pause before writing the rejects file is tried again
};

// The state of what is settled.
struct ImportRunState {
  uint32_t input = 0;
  Place place;              // always between two lines
  uint64_t file_bytes = 0;  // bytes of that input on disk
  Tally tally;
  bool begun = false;   // something of this run is settled
  std::string problem;  // why it waits, unless the destination waits
};

class ImportRun {
 public:
  ImportRun(const ImportRunParts& parts, ImportRunOptions options);

  // Returns ok when everything is settled and no checkpoint is left. Else returns the error: a damaged input, what the
  // destination said, or "stopped"; then all that came before is settled as far as possible, and the checkpoint says
  // how far.
  Status Run(Source& source, Destination& destination);
  // Makes Run return soon. May be called before Run.
  void Stop();

  void OnSettled(const SettledChunk& settled);
  ImportRunState State() const;
  // True if the source gave the error that Run returned.
  bool input_failed() const { return input_failed_; }
  // Says why the checkpoint is not where Run ended; empty if it is.
  const std::string& checkpoint_problem() const { return checkpoint_problem_; }

 private:
  Status Feed(Source& source, Destination& destination);
  bool WriteRejects();
  Status Close(bool whole);
  void Count(const SettledChunk& settled);
  Status WriteCheckpoint();
  void TellCheckpoint(const Status& written);
  // Tries again and again until it succeeds or the run is stopped.
  Status Insist(const std::function<Status()>& write);
  void Attach(Source* source, Destination* destination);
  bool stopped() const;

  const ImportRunParts parts_;
  const ImportRunOptions options_;

  // Guards the members that OnSettled uses, and Run before and after. A stopped destination may still be in OnSettled.
  std::mutex settling_;
  Checkpoint checkpoint_;  // the state after the last settled line, except the tail
  Tail tail_;              // the bytes before it
  Tail open_tail_;         // the same, and the start of a long line that is not settled to its end
  uint32_t tail_input_ = 0;
  TimePoint next_checkpoint_;
  bool over_ = false;  // a reject could not be written, or Run is done: chunks that come do not count
  std::string checkpoint_problem_;
  bool input_failed_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ImportRunState state_;
  bool stop_ = false;

  // These have a lock of their own: a destination that stops may wait for OnSettled to return.
  std::mutex feeding_;
  Source* source_ = nullptr;  // set while Run is feeding
  Destination* destination_ = nullptr;
};

}  // namespace weir
