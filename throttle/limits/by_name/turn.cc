#include "throttle/limits/by_name/turn.h"

namespace weir {

bool Turn::LeaveOthers() {
  size_t ran = 0;
  uintptr_t seen = kTaken;
  for (;;) {
    const bool enough = ran >= kMostForOthers;
    if (seen == kTaken || enough) {
      if (left_.compare_exchange_weak(seen, seen & ~kTaken, std::memory_order_acq_rel, std::memory_order_acquire))
        return (seen & ~kTaken) == 0;
      continue;
    }
    seen = left_.exchange(kTaken, std::memory_order_acquire);
    ran += RunAll(InOrder(seen & ~kTaken));
    seen = kTaken;
  }
}

Turn::Left* Turn::InOrder(uintptr_t newest) {
  Left* first = nullptr;
  for (Left* left = AtAddress(newest); left != nullptr;) {
    Left* before = left->next;
    left->next = first;
    first = left;
    left = before;
  }
  return first;
}

size_t Turn::RunAll(Left* first) {
  size_t ran = 0;
  for (; first != nullptr; ++ran) {
    const std::unique_ptr<Left> left(first);
    first = left->next;
    left->Run();
  }
  return ran;
}

void Turn::Discard(Left* first) {
  while (first != nullptr) {
    const std::unique_ptr<Left> left(first);
    first = left->next;
  }
}

}  // namespace weir
