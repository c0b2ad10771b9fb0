// What an import says at its end, on standard output: as text, or as one JSON object on one line.
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
  std::string error;  // of what failed
  bool dry_run = false;
  // Of all runs that this one goes on with, and how much of it they had read.
  Tally tally;
  uint64_t read_before = 0;
  uint64_t bytes_before = 0;
  // Of this run.
  Duration time{};
  ImportConditions conditions;
  // Where it ended if it is not whole: the last line that is settled, and the command that goes on; none where it
  // cannot.
  std::string input;
  uint64_t line = 0;
  std::string damaged;                 // the input that has to be mended before; may be the one after
  std::vector<std::string> not_begun;  // inputs
  std::string go_on;
  std::string checkpoint_problem;  // it would go on earlier than where this one ended; empty: it would not
  std::string rejects;             // the file that has them; empty: none, or they are not kept
};

// 0 all taken or not needed, 1 some rejected, 2 not whole.
int ExitCode(const ImportSummary& summary);

std::string ToText(const ImportSummary& summary);
// {"whole":true,"read":…, one member for each LineOutcome by KeyOf, "rejected":…, …}
std::string ToJsonLine(const ImportSummary& summary);

}  // namespace weir
