// Shows a census to people, as tables: at /live, and by `weir info`.
#pragma once

#include <string>
#include <vector>

#include "relay/observe/metrics/live_tables.h"
#include "relay/store/census/census.h"

namespace weir {

// Returns the sentences about the whole store: its size, its growth, and what the rule matches.
std::vector<std::string> CensusSentences(const Census& census);

// These add a table each: the kinds, the days of arrival, the months of created_at (years, if they are long past), the
// authors, the letters of tags, and the tag values. A table may have more rows than LiveTable::kMostRows: at most
// `most`, of which the first are the most important.
void AddStoredKinds(const Census& census, size_t most, LiveTables* tables);
void AddStoredDays(const Census& census, size_t most, LiveTables* tables);
void AddStoredMonths(const Census& census, LiveTables* tables);
void AddStoredAuthors(const Census& census, LiveTables* tables);
void AddStoredLetters(const Census& census, LiveTables* tables);
void AddStoredTags(const Census& census, LiveTables* tables);

}  // namespace weir
