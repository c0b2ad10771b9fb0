// The last words of an import, on standard output: as text, or as one JSON object on one line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/clock.h"
#include "import/settled.h"

namespace weir {

struct ImportSummary {
  enum class End : uint8_t { kWhole, kStopped, kFailed };

  End end = End::kWhole;
  std::string error;  // empty unless kFailed
  bool dry_run = false;
  // Counts over all runs that this one goes on with, and how much of it those before had read.
  Tally tally;
  uint64_t read_before = 0;
  uint64_t bytes_before = 0;
  // Figures of this run.
  Duration time{};
  ImportConditions conditions;
  // If it is not whole: the last line that is settled, and the command that goes on; empty if none can.
  std::string input;
  uint64_t line = 0;
  std::string damaged;                 // the input that has to be mended before; may be the one after `input`
  std::vector<std::string> not_begun;  // names of inputs
  std::string go_on;
  std::string checkpoint_problem;  // why it would go on earlier than where this one ended; empty: it would not
  std::string rejects;             // the file with the rejected lines; empty: none, or not kept
};

// Returns 0: all taken or not needed, 1: some rejected, 2: not whole.
int ExitCode(const ImportSummary& summary);

std::string ToText(const ImportSummary& summary);
// {"whole":true,"read":…, one member for each LineOutcome by KeyOf, "rejected":…, …}
std::string ToJsonLine(const ImportSummary& summary);

}  // namespace weir
