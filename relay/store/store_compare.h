// Whether two stores hold the same: every event with the same JSON, every mark of what was deleted or vanished.
// Serials, and so the order of arrival, do not count; nor what they are on.
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
  // Events that had expired by then count as gone, in both: when they are swept is chance. 0: they count as any.
  uint64_t now_seconds = 0;
  size_t examples = 5;  // of each kind of difference
  // What only it has is no difference, but counted: the second is a copy that others write to.
  bool second_may_have_more = false;
  // Then, whether it has this event no more for a reason that it knows, which is counted as more; empty: it never has.
  std::function<Result<bool>(EventView event)> second_let_go;
};

// Walks through both at once. Findings: what is only in the one, only in the other, and what differs, each with
// examples. `events` and `marks` of the report are those of the first. The error is that they could not be compared.
Result<CheckReport> CompareStores(StoreWalk& first, StoreWalk& second, const CompareOptions& options = {});
Result<CheckReport> CompareStores(const RocksDbStore& first, const RocksDbStore& second,
                                  const CompareOptions& options = {});

// For a terminal, with a line feed at the end.
std::string ComparisonText(const CheckReport& report);

}  // namespace weir
