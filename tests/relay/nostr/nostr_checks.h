// Checks properties that relay/nostr has for every input: its fast code gives the same results as the slow reference
// code (reference_event.h). The property tests of this folder and tests/fuzz call these functions.
#pragma once

#include <string_view>
#include <vector>

#include "relay/nostr/filter.h"
#include "tests/relay/nostr/reference_event.h"

namespace weir {

// Converts a filter. Sorts its lists by code of its own, so that the parser's sorting is checked, too.
Filter Fast(const ReferenceFilter& slow);

// Checks that the parser accepts an event if the reference does, and that the record has the same values. Checks this
// also with a corrected id, because a wrong id is the only fault of most texts.
void CheckEvent(std::string_view json);
// Checks that a record of any bytes is either refused or can be read to its end.
void CheckRecord(std::string_view record);
// Checks that a filter is read as by the reference, matches the same events, and is the same after it was written as
// JSON.
void CheckFilter(std::string_view json, const std::vector<ReferenceEvent>& events);
// Checks that a client's message is read according to its JSON, and that the answer to a bad message is valid JSON.
void CheckClientMessage(std::string_view text);
// Checks that the scanner accepts JSON if the reference does, and gives it the same canonical form.
void CheckCanonical(std::string_view json);

}  // namespace weir
