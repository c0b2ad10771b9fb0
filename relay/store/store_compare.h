// Whether two databases hold the same: every event with the same JSON, every mark of what was deleted or vanished.
// Serials, and so the order of arrival, do not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/status.h"
#include "relay/store/store_check.h"

namespace weir {

struct CompareOptions {
  // Events that had expired by then count as gone, in both: when they are swept is chance. 0: they count as any.
  uint64_t now_seconds = 0;
  size_t examples = 5;  // of each kind of difference
};

// Walks through both at once in the order of the ids, each on a snapshot. Findings: what is only in the one, only in
// the other, and what differs, each with examples. `events` and `marks` of the report are those of the first. The error
// is that they could not be compared; `weir check` tells of each whether it is whole.
Result<CheckReport> CompareStores(const RocksDbStore& first, const RocksDbStore& second,
                                  const CompareOptions& options = {});

// For a terminal, with a line feed at the end.
std::string ComparisonText(const CheckReport& report);

}  // namespace weir
