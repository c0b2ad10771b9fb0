// The cost of a piece of work to the server, and to this program beside it.
#pragma once

#include <string>

#include "bench/relay/load_scenario.h"
#include "bench/relay/server_usage.h"
#include "config/status.h"

namespace weir {

class UsageMeter {
 public:
  // Takes the counters now; only this program's own if the target's process is not known.
  static Result<UsageMeter> Start(const LoadTarget& target);

  // Adds the processor time of both since the start, for each of `how_many` pieces called `piece`; reads it now.
  Status AddProcessor(const std::string& piece, double how_many, LoadFigures* figures) const;
  // Adds the bytes that were written to disk for each, and the growth of the database.
  Status AddDisk(const std::string& piece, double how_many, LoadFigures* figures) const;
  // Adds the memory that the server holds now.
  Status AddMemory(LoadFigures* figures) const;

 private:
  explicit UsageMeter(const LoadTarget& target) : target_(target) {}

  LoadTarget target_;
  Duration server_{};
  Duration own_{};
  WrittenBytes written_;
  uint64_t disk_ = 0;
};

}  // namespace weir
