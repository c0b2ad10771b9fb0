// ThreadSlot: gives each live thread a small number, so that each can have a counter on a cache line of its own. A
// thread claims its slot at the first call and keeps it alone until it ends. Only if more than kThreadSlots − 1 threads
// with slots live at once, the later ones share the last slot.
#pragma once

#include <cstddef>

namespace weir {

inline constexpr size_t kThreadSlots = 64;
inline constexpr size_t kSharedThreadSlot = kThreadSlots - 1;

namespace internal {
// The calling thread's slot; kThreadSlots before its first use. constinit, so that reading it needs no guard.
extern constinit thread_local size_t thread_slot;
size_t ClaimThreadSlot();
}  // namespace internal

// Returns the slot of the calling thread, which is below kThreadSlots; kSharedThreadSlot may belong to several threads.
inline size_t ThreadSlot() {
  const size_t slot = internal::thread_slot;
  return slot < kThreadSlots ? slot : internal::ClaimThreadSlot();
}

}  // namespace weir
