// ImportSummary: the result of an import, which `weir import` prints on standard output at its end, as text or as a
// JSON object on one line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/clock.h"
#include "import/settled.h"

namespace weir {

struct ImportSummary {
  // kWhole: all inputs are imported. kStopped: the user stopped it. kFailed: an error ended it.
  enum class End : uint8_t { kWhole, kStopped, kFailed };

  End end = End::kWhole;
  std::string error;  // empty unless kFailed
  bool dry_run = false;
  Tally tally;                  // counts of this run and, if it resumed an import, of the earlier runs
  uint64_t read_before = 0;     // lines that earlier runs settled
  uint64_t bytes_before = 0;    // bytes that earlier runs settled
  Duration time{};              // duration of this run
  ImportConditions conditions;  // at the end of this run
  // The next five members have a meaning only if `end` is not kWhole.
  std::string input;                   // the input of the last settled line
  uint64_t line = 0;                   // number of the last settled line in `input`
  std::string damaged;                 // input to repair before a resume; may be the one after `input`; empty: none
  std::vector<std::string> not_begun;  // names of inputs that were not begun
  std::string go_on;                   // command that resumes the import; empty: it cannot be resumed
  // Why the last checkpoint was not written (a resume would then begin earlier than `line`); empty: it was written.
  std::string checkpoint_problem;
  std::string rejects;  // the file with the rejected lines; empty: there are none, or they are not kept
};

// Returns 0 if all lines were imported or not needed, 1 if some were rejected, and 2 if `end` is not kWhole.
int ExitCode(const ImportSummary& summary);

std::string ToText(const ImportSummary& summary);
// Returns {"whole":true,"dry_run":…,"read":…, one member for each LineOutcome, named by KeyOf, "rejected":…, …} and a
// newline.
std::string ToJsonLine(const ImportSummary& summary);

}  // namespace weir
