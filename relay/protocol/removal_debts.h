// RemovalDebts: the work that removals, such as deletions, have cost for each address and that was not charged yet. It
// is added to the cost of the address's next events at the write gate.
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
  // Returns the debt of the party's address, but at most the work of one write, so that the gate does not refuse the
  // event that is charged. Subtracts the result from the debt.
  Work Take(const Party& party);

 private:
  Mutex mutex_;
  std::unordered_map<uint64_t, Work> of_groups_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
