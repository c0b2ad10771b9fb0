// WorkPool: the threads that verify signatures and scan, so that I/O threads never wait.
//
// Four kinds of work. Urgent tasks (the first slice of a REQ or COUNT) go first. Fair tasks (events) and long ones
// (the slices that follow) take turns as kinds while both wait; fewer long tasks run at once than there are threads, so
// that whatever a scan costs, a short request finds a thread. Within a kind groups (addresses) take turns, one
// task each, and within a group its parties (connections): a flooder waits behind itself however many connections it
// has, and a single event of somebody else waits for one task of each address. Urgent work is no way around this: of
// every eight tasks one is not urgent, if any waits. Tasks are cut by their makers to a fraction of a millisecond.
//
// Bulk tasks (an import into a running relay) run when nothing else can, and are one of 32 while others always can, so
// that an import moves on beside any load. Long and bulk tasks together leave one thread to the others where there is
// more than one, so a pool of a program that does nothing but import calls its tasks fair and has all threads.
//
// Threads: Submit from any thread. Nothing is bounded here: whoever submits has a window (event_window.h, requests.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "throttle/admission.h"

namespace weir {

enum class Urgency : uint8_t { kUrgent, kFair, kLong, kBulk };
inline constexpr size_t kUrgencies = 4;

class WorkPool {
 public:
  explicit WorkPool(size_t threads);
  // Runs what was submitted, then ends the threads.
  ~WorkPool();

  void Submit(Urgency urgency, const Party& party, std::function<void()> task);
  size_t threads() const;
  size_t waiting() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
