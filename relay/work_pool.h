// WorkPool: the threads that verify signatures and scan, so that I/O threads never wait.
//
// Three kinds of work. Urgent tasks (the first slice of a REQ or COUNT) go first. Fair tasks (events) and long ones
// (the slices that follow) take turns as kinds while both wait; fewer long tasks run at once than there are threads, so
// that whatever a scan costs, a short request finds a thread. Within a kind groups (addresses) take turns, one
// task each, and within a group its parties (connections): a flooder waits behind itself however many connections it
// has, and a single event of somebody else waits for one task of each address. Urgent work is no way around this: of
// every eight tasks one is not urgent, if any waits. Tasks are cut by their makers to a fraction of a millisecond.
//
// Threads: Submit from any thread. Nothing is bounded here: whoever submits has a window (event_window.h, requests.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "throttle/admission.h"

namespace weir {

enum class Urgency : uint8_t { kUrgent, kFair, kLong };
inline constexpr size_t kUrgencies = 3;

class WorkPool {
 public:
  // Below the I/O and the commit threads, so that what waits does so here, where parties take turns, and not in one
  // line behind what was judged already: live p50 in the storm 12 ms without, 5.7 with, and 3.5 with batches of 4
  // events.
  static constexpr int kNice = 10;

  explicit WorkPool(size_t threads, int nice = kNice);
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
