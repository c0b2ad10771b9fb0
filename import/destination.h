// Destination: the interface through which `weir import` stores the chunks of its inputs (import/input/chunk.h). A
// destination is a database that this process opens, a running relay that has the database open, or nothing (a dry
// run).
//
// A chunk is settled when each of its lines has an outcome and its events are on disk; a dry run stores no events
// (settled.h). The destination then passes the chunk to the OnSettled callback, on a thread of its own and in the order
// of Push. The destination may join several chunks of one input and report them as one.
//
// Threads: one thread calls Push and Finish; any thread except the one that runs the callback may call Stop; any thread
// may call the other functions.
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

  // Takes a chunk. Blocks while the destination holds as many unsettled chunks as its limit allows. Returns false, and
  // drops the chunk, if the destination has failed or was stopped.
  virtual bool Push(Chunk chunk) = 0;
  // Blocks until all chunks are settled; if this process has opened a database, then flushes it. Returns an error if
  // the destination fails, or if it is stopped while chunks are not settled.
  virtual Status Finish() = 0;
  // Makes Push and Finish return soon. The destination drops the chunks that are not settled; if there were any, Finish
  // returns the error "stopped". The callback may still run, or be called, until the destructor has returned.
  virtual void Stop() = 0;

  virtual ImportConditions Conditions() const = 0;
  // Returns the destination's name for messages: "./data/events", "the relay at http://127.0.0.1:3334 (process 1234)".
  virtual std::string Describe() const = 0;
};

struct DestinationOptions {
  JudgeOptions judge;
  size_t threads = 0;  // threads that judge lines; 0: one for each core
};

// Opens the database of the configuration, and creates it if it does not exist. Returns an error if this fails, for
// example because a relay has the database open.
Result<std::unique_ptr<Destination>> OpenDatabaseDestination(const RelayConfiguration& configuration,
                                                             const DestinationOptions& options,
                                                             Destination::OnSettled on_settled);
// Makes a destination that judges the lines and stores nothing; it needs no database.
std::unique_ptr<Destination> MakeDryRun(const DestinationOptions& options, Destination::OnSettled on_settled);

// A relay to import through, by its POST /api/import. If the relay becomes unreachable, the import waits until it is
// back, and then sends again the lines that were not settled.
struct RelayAddress {
  std::string url;     // such as http://127.0.0.1:3334; must begin with http:// and must have no path
  std::string holder;  // for messages, the process that runs the relay: "process 1234 (weir relay)"; may be empty
  // Returns the relay's admin token (relay/admin/admin.h). The destination calls this function for every POST, because
  // a restarted relay has another token. The function may be null. Its error is reported only if the relay answers with
  // status 401 or 403.
  std::function<Result<std::string>()> token = {};
};
// Makes the destination. Returns an error if the URL does not begin with http:// or has a path. Does not wait for the
// relay.
Result<std::unique_ptr<Destination>> OpenRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled);

}  // namespace weir
