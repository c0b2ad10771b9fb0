// Compares two stores, which may be on different databases. Unless CompareOptions allows a difference, every event must
// be in both with the same JSON, and all marks of deleted events and vanished authors must be the same (store_walk.h).
// The order in which the events arrived (their serials) makes no difference.
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
  // Events that have expired at this time are ignored in both stores, because a store may remove them at any time. 0:
  // no event is ignored.
  uint64_t now_seconds = 0;
  size_t examples = 5;  // the highest number of examples for each kind of difference
  // True if other programs also write to the second store, which is a copy of the first. Events and marks that only the
  // second store has are then counted in CheckReport::more and are no findings. A mark applies to events up to a
  // created_at (`until`). If both stores have the mark, and `until` is later in the second, this is no finding either.
  bool second_may_have_more = false;
  // Called for each event that only the first store has. Returns true if the second store has a good reason not to have
  // it; the event is then counted in CheckReport::more and is no finding. Empty: there is never such a reason.
  std::function<Result<bool>(EventView event)> second_let_go;
};

// Walks through both stores at once. The findings are entries only in the first store, entries only in the second, and
// entries that differ, each with examples. `events` and `marks` of the report are the numbers of the first store,
// without ignored events. Returns an error if a store cannot be read.
Result<CheckReport> CompareStores(StoreWalk& first, StoreWalk& second, const CompareOptions& options = {});
Result<CheckReport> CompareStores(const RocksDbStore& first, const RocksDbStore& second,
                                  const CompareOptions& options = {});

// Returns the report as text for a terminal, with a line feed at the end.
std::string ComparisonText(const CheckReport& report);

}  // namespace weir
