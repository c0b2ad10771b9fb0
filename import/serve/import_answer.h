// Writes and reads the lines of JSON in the answer to POST /api/import (import_service.h). The relay writes these
// lines, and `weir import` reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "config/status.h"
#include "import/settled.h"
#include "import/tally.h"

namespace weir {

struct ImportReject {
  uint64_t line = 0;  // number of the line in the body, from 1
  LineOutcome outcome = LineOutcome::kInvalid;
  std::string reason;
};

struct ImportProgress {
  bool done = false;   // true in the last line of an answer without an error: the whole body is settled (settled.h)
  uint64_t lines = 0;  // number of settled lines, which are the first lines of the body
  Tally tally;         // outcomes of these lines
  ImportConditions conditions;
};

struct ImportError {
  std::string message;
  bool lasting = false;  // true if it is useless to send the lines again
};

using ImportAnswerLine = std::variant<ImportReject, ImportProgress, ImportError>;

// These return the line with its line feed.
std::string ToLine(const ImportReject& reject);
std::string ToLine(const ImportProgress& progress);
std::string ToLine(const ImportError& error);

// Reads one line without its line feed. Ignores unknown members. Returns an error if the line is neither a reject nor
// progress nor an error.
Result<ImportAnswerLine> ParseAnswerLine(std::string_view line);

}  // namespace weir
