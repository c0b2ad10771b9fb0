// Reads and writes the document of all decisions, by which administrators move them from one relay to another:
// {"weir_moderation":1,"decisions":[{"list":…,"subject":…,"reason":…,"detail":…,"by":…,"at":…}]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/moderation/decision_book.h"

namespace weir {

// The longest document that is read.
inline constexpr size_t kMostDocumentBytes = size_t{64} << 20;

// Returns the decisions of the document, in their order and normalized. An error says what is wrong.
Result<std::vector<ModerationDecision>> ReadDecisions(std::string_view json);
std::string WriteDecisions(const DecisionBook& book);

}  // namespace weir
