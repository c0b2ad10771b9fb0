// ThreadSlot: gives each live thread a small number, its slot, so that each can have a counter on a cache line of its
// own. A thread claims a slot at its first call, and no other thread has that slot until the thread ends. There is one
// exception: if kThreadSlots − 1 threads have a slot already, all later ones share the last slot.
#pragma once

#include <cstddef>

namespace weir {

inline constexpr size_t kThreadSlots = 64;
inline constexpr size_t kSharedThreadSlot = kThreadSlots - 1;

namespace internal {
// The calling thread's slot; kThreadSlots before the thread's first call. constinit, so that reading it needs no guard.
extern constinit thread_local size_t thread_slot;
size_t ClaimThreadSlot();
}  // namespace internal

// Returns the slot of the calling thread, a number below kThreadSlots; several threads may have kSharedThreadSlot.
inline size_t ThreadSlot() {
  const size_t slot = internal::thread_slot;
  return slot < kThreadSlots ? slot : internal::ClaimThreadSlot();
}

}  // namespace weir
