// Compares two stores: every event must have the same JSON in both, and every mark of deleted events and vanished
// authors must be the same. Serials, and so the order of arrival, do not count; nor do the engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "config/status.h"
#include "relay/store/store_check.h"
#include "relay/store/store_walk.h"

namespace weir {

struct CompareOptions {
  // Events that had expired by then count as gone in both, because it is chance when they are removed. 0: they count.
  uint64_t now_seconds = 0;
  size_t examples = 5;  // for each kind of difference
  // The second is a copy that others write to: events that only it has are counted, but are no difference.
  bool second_may_have_more = false;
  // Returns true if the second lacks this event for a reason that it knows; it is then counted as more. Empty: never.
  std::function<Result<bool>(EventView event)> second_let_go;
};

// Walks through both at once. Findings: entries only in the first, entries only in the second, and entries that differ,
// each with examples. `events` and `marks` of the report are those of the first. The error is that the comparison
// failed.
Result<CheckReport> CompareStores(StoreWalk& first, StoreWalk& second, const CompareOptions& options = {});
Result<CheckReport> CompareStores(const RocksDbStore& first, const RocksDbStore& second,
                                  const CompareOptions& options = {});

// For a terminal, with a line feed at the end.
std::string ComparisonText(const CheckReport& report);

}  // namespace weir
