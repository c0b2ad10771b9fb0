// ImportJob: what `weir import` was asked for, put together: the inputs, the destination that fits, the rejects file
// and the checkpoint.
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
  std::string rejects;      // empty: in the data directory, and nowhere on a dry run
  std::string relay;        // URL; empty: whoever has the data directory, else nobody
  std::string admin_token;  // for `relay`; empty: that of the data directory
  size_t threads = 0;
  uint32_t checkpoint_every_ms = 1000;
  bool resume = false;
  bool dry_run = false;
  bool verify = true;
};

class ImportJob {
 public:
  // Makes nothing where an input cannot be read. Else changes nothing but that directories are made, the database is
  // opened, and an old checkpoint is replaced.
  static Result<std::unique_ptr<ImportJob>> Open(const RelayConfiguration& configuration,
                                                 const ImportJobOptions& options);
  // Closes the database.
  virtual ~ImportJob() = default;

  // What whoever asked should know before it begins: where the events go, where it goes on.
  virtual const std::vector<std::string>& notes() const = 0;

  virtual Status Run() = 0;
  virtual void Stop() = 0;
  virtual ProgressNumbers Progress() const = 0;

  // After Run, as far as the job knows: no times, whole.
  virtual ImportSummary Summary() const = 0;
  // Whether --resume would go on.
  virtual bool can_go_on() const = 0;
};

}  // namespace weir
