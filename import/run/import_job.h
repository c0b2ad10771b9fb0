// ImportJob: puts together what one `weir import` needs: the inputs, the destination that fits, the rejects file and
// the checkpoint.
//
// Threads: Run from one; Stop and Progress from any.
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
  std::string rejects;      // empty: in the data directory; not kept on a dry run
  std::string relay;        // URL; empty: the relay that has the data directory, if any
  std::string admin_token;  // for `relay`; empty: the one in the data directory
  size_t threads = 0;
  uint32_t checkpoint_every_ms = 1000;
  bool resume = false;
  bool dry_run = false;
  bool verify = true;
};

class ImportJob {
 public:
  // Makes nothing if an input cannot be read. Otherwise it only makes directories, locks the checkpoint, opens the
  // database, and opens the rejects file, which it cuts back to the checkpoint if it resumes.
  static Result<std::unique_ptr<ImportJob>> Open(const RelayConfiguration& configuration,
                                                 const ImportJobOptions& options);
  // Closes the database.
  virtual ~ImportJob() = default;

  // Notes for the user before it begins: where the events go, where it goes on.
  virtual const std::vector<std::string>& notes() const = 0;

  virtual Status Run() = 0;
  virtual void Stop() = 0;
  virtual ProgressNumbers Progress() const = 0;

  // Returns what the job knows after Run: neither times nor how it ended.
  virtual ImportSummary Summary() const = 0;
  // True if --resume would go on.
  virtual bool can_go_on() const = 0;
};

}  // namespace weir
