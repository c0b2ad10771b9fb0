// RemovalDebts: counts for each client address the work of removals, such as deletions, that was not charged yet. The
// cost of the address's next events at the write gate includes this debt.
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "config/mutex.h"
#include "relay/account/work.h"
#include "throttle/admission.h"

namespace weir {

class RemovalDebts {
 public:
  void Add(const Party& party, Work work);
  // Returns the debt of the party's address, but at most the work of one write of the commit thread. So the gate does
  // not refuse the event to which the debt is charged. Subtracts the result from the debt.
  Work Take(const Party& party);

 private:
  Mutex mutex_;
  std::unordered_map<uint64_t, Work> of_groups_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
