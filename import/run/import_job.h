// ImportJob: one run of `weir import`. It opens the inputs, the destination (import/destination.h), the rejects file
// and the checkpoint, and runs the import.
//
// Threads: one thread calls Run; any thread may call Stop and Progress.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "import/run/progress.h"
#include "import/run/summary.h"
#include "relay/relay.h"

namespace weir {

struct ImportJobOptions {
  std::vector<std::string> inputs;
  std::string rejects;      // path of the rejects file; empty: one in the data directory, or none on a dry run
  std::string relay;        // URL of the relay to import through; empty: the relay that has the database open, if any
  std::string admin_token;  // token for `relay`; empty: the one in the data directory, if `relay` uses that directory
  size_t threads = 0;       // threads that judge lines; 0: one for each core
  uint32_t checkpoint_every_ms = 1000;
  bool resume = false;
  bool dry_run = false;
  bool verify = true;
};

class ImportJob {
 public:
  // Prepares the import: creates directories, locks the checkpoint, opens the rejects file, the first input and the
  // destination. A dry run has neither directories nor a checkpoint. If the import resumes, cuts the rejects file back
  // to the checkpoint (RejectsFile::CutBack). Returns an error if a step fails. If an input cannot be read, returns
  // this error before it creates anything, unless the import resumes.
  static Result<std::unique_ptr<ImportJob>> Open(const RelayConfiguration& configuration,
                                                 const ImportJobOptions& options);
  // Closes the database.
  virtual ~ImportJob() = default;

  // Returns notes for the user, to print before Run: for example the destination of the events, and the line after
  // which the import continues.
  virtual const std::vector<std::string>& notes() const = 0;

  // Imports everything; see ImportRun::Run (import_run.h).
  virtual Status Run() = 0;
  // Makes Run return soon.
  virtual void Stop() = 0;
  // Returns the progress. Its rates are 0; the display computes them.
  virtual ProgressNumbers Progress() const = 0;

  // Returns the summary, in which the caller sets `end`, `error`, `time` and `go_on`. Call it after Run.
  virtual ImportSummary Summary() const = 0;
  // Returns true if the job keeps a checkpoint, so that --resume can continue it if Run ended early. A dry run has
  // none.
  virtual bool can_go_on() const = 0;
};

}  // namespace weir
