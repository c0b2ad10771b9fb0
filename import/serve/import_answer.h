// The lines of JSON that POST /api/import answers with (import_service.h): as the relay writes them, and as
// `weir import` reads them.
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
  uint64_t line = 0;  // in the body, counted from 1
  LineOutcome outcome = LineOutcome::kInvalid;
  std::string reason;
};

struct ImportProgress {
  bool done = false;   // this is the last one
  uint64_t lines = 0;  // settled ones, from the start of the body
  Tally tally;         // their outcomes
  ImportConditions conditions;
};

struct ImportError {
  std::string message;
  bool lasting = false;  // trying again is useless
};

using ImportAnswerLine = std::variant<ImportReject, ImportProgress, ImportError>;

// Each returns the line with its line feed.
std::string ToLine(const ImportReject& reject);
std::string ToLine(const ImportProgress& progress);
std::string ToLine(const ImportError& error);

// Reads one line, without its line feed. Passes over members that it does not know.
Result<ImportAnswerLine> ParseAnswerLine(std::string_view line);

}  // namespace weir
