// WorkPool: the threads that verify signatures and scan, so that I/O threads never wait.
//
// Addresses (groups) take turns by work (throttle/fair_turns.h): the next turn goes to the address that will have used
// least once the expected work of its next task is added. So an address that asks for little goes before all that ask
// for much, known or new, however many these are, however many connections they have, and whatever each task costs in
// the end.
//
// Within an address there are three kinds of tasks. Urgent tasks (the first slice of a REQ or COUNT) go first, but of
// every eight tasks one is not urgent, if any waits. Fair tasks (events) and long ones (the slices that follow) take
// turns while both wait. Fewer long tasks run at once than there are threads (but at least one), so a short request
// finds a thread whatever a scan costs. Within a kind, connections take turns by work. Between addresses urgency does
// not count. Callers cut their tasks to a millisecond at most.
//
// Threads: Submit may be called from any thread. The pool bounds nothing; callers limit what they submit by a window
// (event_window.h, requests.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "relay/account/heavy_takers.h"
#include "relay/account/work.h"
#include "throttle/admission.h"

namespace weir {

enum class Urgency : uint8_t { kUrgent, kFair, kLong };
inline constexpr size_t kUrgencies = 3;

class WorkPool {
 public:
  // The workers run at a lower priority than the I/O and commit threads. So events wait here, where parties take turns,
  // and not in one line behind those that were judged already: live p50 in the storm 12 ms without, 5.7 with, and 3.5
  // with batches of 4 events.
  static constexpr int kNice = 10;

  explicit WorkPool(size_t threads, int nice = kNice);
  // Runs all submitted tasks, then ends the threads.
  ~WorkPool();

  // A task returns what it has cost; one that returns nothing has cost `expected`.
  template <typename Task>
  void Submit(Urgency urgency, const Party& party, Work expected, Task task) {
    if constexpr (std::is_void_v<std::invoke_result_t<Task&>>) {
      Enqueue(urgency, party, expected, [task = std::move(task), expected]() mutable {
        task();
        return expected;
      });
    } else {
      Enqueue(urgency, party, expected, std::move(task));
    }
  }
  // The expected work of a task if the caller knows no better.
  static constexpr Work kUsualWork = kTurnWork / 8;
  template <typename Task>
  void Submit(Urgency urgency, const Party& party, Task task) {
    Submit(urgency, party, kUsualWork, std::move(task));
  }

  size_t threads() const;
  size_t waiting() const;

  // The groups and the parties that took most work. It is recent work only if a caller lets it fade with FadeTakers,
  // for example once a second.
  struct Heaviest {
    std::vector<HeavyTakers::Taker> groups;
    std::vector<HeavyTakers::Taker> parties;
  };
  Heaviest HeaviestTakers() const;
  void FadeTakers(double share);

 private:
  void Enqueue(Urgency urgency, const Party& party, Work expected, std::function<Work()> task);

  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
