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
  uint64_t line = 0;  // of the body, counted from 1
  LineOutcome outcome = LineOutcome::kInvalid;
  std::string reason;
};

struct ImportProgress {
  bool done = false;   // the last one
  uint64_t lines = 0;  // of the body, from its begin, that are settled
  Tally tally;         // of these
  ImportConditions conditions;
};

struct ImportError {
  std::string message;
  bool lasting = false;  // trying again is of no use
};

using ImportAnswerLine = std::variant<ImportReject, ImportProgress, ImportError>;

// Each with its line feed.
std::string ToLine(const ImportReject& reject);
std::string ToLine(const ImportProgress& progress);
std::string ToLine(const ImportError& error);

// Reads one line, without its line feed. Members that it does not know are passed over.
Result<ImportAnswerLine> ParseAnswerLine(std::string_view line);

}  // namespace weir
