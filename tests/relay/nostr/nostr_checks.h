// Properties that relay/nostr has, whatever it is given: the fast code agrees with the slow (reference_event.h). For
// the properties here and for tests/fuzz.
#pragma once

#include <string_view>
#include <vector>

#include "relay/nostr/filter.h"
#include "tests/relay/nostr/reference_event.h"

namespace weir {

// Sorts by hand, to judge the parser's sorting too.
Filter Fast(const ReferenceFilter& slow);

// An event is taken as the reference takes it, and the record says the same. This also holds once its id is mended, as
// most texts are no event only because of their id.
void CheckEvent(std::string_view json);
// A record that was read from somewhere is refused, or can be read to its end.
void CheckRecord(std::string_view record);
// A filter is read as the reference reads it, matches what the reference matches, and is the same after its JSON.
void CheckFilter(std::string_view json, const std::vector<ReferenceEvent>& events);
// A client's message is taken as its JSON means it, and what is said to a bad one is JSON.
void CheckClientMessage(std::string_view text);
// JSON is good for the scanner if it is for the reference, and has the same canonical form.
void CheckCanonical(std::string_view json);

}  // namespace weir
