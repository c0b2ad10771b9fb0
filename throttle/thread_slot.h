// A small number for each live thread, so that counters can be striped without sharing a cache line. A thread holds its
// slot alone until it ends; only when more than kThreadSlots − 1 threads live at once do the late ones share the last.
#pragma once

#include <cstddef>

namespace weir {

inline constexpr size_t kThreadSlots = 64;
inline constexpr size_t kSharedThreadSlot = kThreadSlots - 1;

namespace internal {
// constinit: no guard on the hot path. Beyond any slot until the thread's first use.
extern constinit thread_local size_t thread_slot;
size_t ClaimThreadSlot();
}  // namespace internal

inline size_t ThreadSlot() {
  const size_t slot = internal::thread_slot;
  return slot < kThreadSlots ? slot : internal::ClaimThreadSlot();
}

}  // namespace weir
