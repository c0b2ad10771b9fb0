// Destination: the interface through which `weir import` stores its chunks. A destination is a database in this
// process, a running relay that has the database open, or nothing (a dry run).
//
// A chunk is settled when each of its lines has an outcome and the events that it brought are on disk (settled.h). The
// destination then calls OnSettled, on a thread of its own and in the order of Push. It may join several chunks of one
// input and report them as one.
//
// Threads: one thread calls Push and Finish; any thread except the one that runs OnSettled may call Stop; any thread
// may call the others.
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

  // Takes a chunk. Blocks while the destination holds as many chunks as it may. Returns false if it cannot go on or was
  // stopped; Finish then says why.
  virtual bool Push(Chunk chunk) = 0;
  // Blocks until everything that was pushed is settled. Returns an error if that is not possible.
  virtual Status Finish() = 0;
  // Makes Push and Finish return soon. Chunks that are not settled are dropped; if there were any, the error of Finish
  // is "stopped". Until the destructor has returned, OnSettled may still run, or be called once more.
  virtual void Stop() = 0;

  virtual ImportConditions Conditions() const = 0;
  // Returns the name for messages: "./data/events", "the relay at http://127.0.0.1:3334 (process 1234)".
  virtual std::string Describe() const = 0;
};

struct DestinationOptions {
  JudgeOptions judge;
  size_t threads = 0;  // 0: one for each core
};

// Opens the database of the configuration, and creates it if it does not exist. Returns an error if it cannot be
// opened, for example because a relay has it open.
Result<std::unique_ptr<Destination>> OpenDatabaseDestination(const RelayConfiguration& configuration,
                                                             const DestinationOptions& options,
                                                             Destination::OnSettled on_settled);
// Makes a destination that judges the lines and stores nothing; it needs no database.
std::unique_ptr<Destination> MakeDryRun(const DestinationOptions& options, Destination::OnSettled on_settled);

// A relay to import through, by its POST /api/import. If the relay becomes unreachable, the import waits for it, and
// then sends the lines that were not settled again.
struct RelayAddress {
  std::string url;     // http://127.0.0.1:3334; https and a path are refused
  std::string holder;  // the process that runs the relay, "process 1234 (weir relay)"; may be empty
  // Returns the relay's admin token (relay/operator/admin.h). The function is called for every POST, because a
  // restarted relay has another token. It may be empty. An error is reported only if the relay refuses the POST.
  std::function<Result<std::string>()> token = {};
};
// Makes the destination; returns an error if the URL is not acceptable. Does not wait for the relay.
Result<std::unique_ptr<Destination>> OpenRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled);

}  // namespace weir
