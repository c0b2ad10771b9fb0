// UsageMeter: measures what some work costs the server and this program.
#pragma once

#include <string>

#include "bench/relay/load_scenario.h"
#include "bench/relay/server_usage.h"
#include "config/status.h"

namespace weir {

class UsageMeter {
 public:
  // Reads the counters now. If the target's process is not known, reads those of this program, and the size of the
  // database if its directory is known.
  static Result<UsageMeter> Start(const LoadTarget& target);

  // Reads the processor time of the server and of this program, and adds their growth since the start to `*figures`,
  // divided by `how_many`. `piece` is the name of one unit of the work, such as "event".
  Status AddProcessor(const std::string& piece, double how_many, LoadFigures* figures) const;
  // Adds the bytes that the server wrote to disk since the start, divided by `how_many`, and the growth of the
  // database.
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
