#include "throttle/thread_slot.h"

#include <bitset>

#include "config/mutex.h"

namespace weir::internal {

constinit thread_local size_t thread_slot = kThreadSlots;

namespace {

class SlotTable {
 public:
  size_t Claim() {
    const MutexLock lock(mutex_);
    for (size_t slot = 0; slot < kSharedThreadSlot; ++slot) {
      if (taken_[slot]) continue;
      taken_.set(slot);
      return slot;
    }
    return kSharedThreadSlot;
  }

  void Return(size_t slot) {
    const MutexLock lock(mutex_);
    if (slot != kSharedThreadSlot) taken_.reset(slot);
  }

 private:
  Mutex mutex_;
  std::bitset<kThreadSlots> taken_ WEIR_GUARDED_BY(mutex_);
};

// Never destroyed: threads may end after static destructors have run.
SlotTable& Slots() {
  static auto* table = new SlotTable;
  return *table;
}

// Destructors of the thread that run after this one may still count; they use the shared slot.
struct SlotOwner {
  size_t slot = Slots().Claim();
  ~SlotOwner() {
    thread_slot = kSharedThreadSlot;
    Slots().Return(slot);
  }
};

}  // namespace

size_t ClaimThreadSlot() {
  static thread_local SlotOwner owner;
  return thread_slot = owner.slot;
}

}  // namespace weir::internal
