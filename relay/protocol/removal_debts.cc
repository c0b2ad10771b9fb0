#include "relay/protocol/removal_debts.h"

#include <algorithm>

namespace weir {
namespace {

constexpr Work kMostDebtAtOnce = 8 * kTurnWork;
constexpr size_t kMostDebtors = 4096;

}  // namespace

void RemovalDebts::Add(const Party& party, Work work) {
  if (work == 0) return;
  const MutexLock lock(mutex_);
  // Only an attack makes this many debtors at once. All debts are then forgotten, which bounds the memory.
  if (of_groups_.size() >= kMostDebtors) of_groups_.clear();
  of_groups_[GroupOf(party)] += work;
}

Work RemovalDebts::Take(const Party& party) {
  const MutexLock lock(mutex_);
  const auto found = of_groups_.find(GroupOf(party));
  if (found == of_groups_.end()) return 0;
  const Work taken = std::min(found->second, kMostDebtAtOnce);
  found->second -= taken;
  if (found->second == 0) of_groups_.erase(found);
  return taken;
}

}  // namespace weir
