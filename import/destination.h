// Destination: the place to which `weir import` brings its chunks: a database of its own, a running relay that has the
// database, or nowhere (a dry run).
//
// Threads: Push and Finish from one thread; Stop and Conditions from any. `OnSettled` is called on a thread of the
// destination, in the order of Push, each chunk once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/status.h"
#include "import/pipeline.h"
#include "import/settled.h"
#include "relay/relay.h"

namespace weir {

class Destination {
 public:
  using OnSettled = Pipeline::OnSettled;

  virtual ~Destination() = default;

  // Blocks while as much as it may hold is under way. Returns false if it cannot go on or was stopped; Finish says why.
  virtual bool Push(Chunk chunk) = 0;
  // Returns when everything that was pushed is settled, or with an error that says why that cannot be.
  virtual Status Finish() = 0;
  // Makes Push and Finish return soon. Chunks that are not settled are given up; if there were any, Finish's error is
  // "stopped". OnSettled may still run when this returns, or come once more, until the destructor has returned.
  virtual void Stop() = 0;

  virtual ImportConditions Conditions() const = 0;
  // For the first line of the log: "./data/events", "the relay at http://127.0.0.1:3334 (process 1234)".
  virtual std::string Describe() const = 0;
};

struct DestinationOptions {
  JudgeOptions judge;
  size_t threads = 0;  // 0: one for each core
};

// Opens the database of the configuration for itself, and makes it if it is not there.
Result<std::unique_ptr<Destination>> OpenDatabaseDestination(const RelayConfiguration& configuration,
                                                             const DestinationOptions& options,
                                                             Destination::OnSettled on_settled);
// Judges and saves nothing; no database is needed.
std::unique_ptr<Destination> MakeDryRun(const DestinationOptions& options, Destination::OnSettled on_settled);

// A relay to import through, by its POST /api/import at `url` (http://127.0.0.1:3334). If the relay goes away the
// import waits for it, and sends again what was not settled.
struct RelayAddress {
  std::string url;
  std::string holder;  // "process 1234 (weir relay)"
  // Returns what shows the relay that this may import (relay/operator/admin.h). Called for every POST: a relay that was
  // started anew has another token. May be empty; its error is reported if the relay refuses.
  std::function<Result<std::string>()> token = {};
};
Result<std::unique_ptr<Destination>> OpenRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled);

}  // namespace weir
