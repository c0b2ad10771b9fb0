// WorkPool: the worker threads. They verify events and scan the store, among other tasks, so that I/O threads do not
// wait for such work.
//
// Addresses (groups) take turns by work (throttle/fair_turns.h): the next turn goes to the address that will have had
// the least work once its next task is done, if that task costs as much as expected. So an address that asks for little
// is served before addresses that ask for much, whether it is known or new, and however many addresses and connections
// there are. When a task is done, the pool counts the work that it has really cost. An address that has used less than
// its part has credit for a few turns, so a client that reads a page now and then does not wait for a crowd that asks
// without pause.
//
// An address has three kinds of tasks (Urgency). A query (REQ or COUNT) is split into slices; its first slice is an
// urgent task, the later ones are long tasks. Other tasks, such as the verification of events, are fair tasks. Among
// the tasks of an address, urgent tasks go first, but while others wait, one of every eight tasks is not urgent. Fair
// and long tasks take turns while both wait. Long tasks never occupy all threads, unless there is only one, so a short
// request finds a thread however long a scan takes. Among tasks of one kind, the connections of the address take turns
// by work. The kinds do not affect the order of the addresses, with one exception: while no further long task may run,
// addresses that have only long tasks are passed over. Callers split their work into tasks of about a millisecond.
//
// Threads: all functions may be called from any thread, also from a task. The pool does not bound the number of tasks;
// callers limit the tasks that they submit (relay/protocol/event_window.h, relay/protocol/requests.h).
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

// The kinds of tasks (see above).
enum class Urgency : uint8_t { kUrgent, kFair, kLong };
inline constexpr size_t kUrgencies = 3;

class WorkPool {
 public:
  // The nice value of the workers, which gives them a lower priority than the I/O and commit threads. So when there is
  // too much work, events wait in this pool, where clients take turns, and not after they were verified. Median delay
  // of new events until their subscribers have them, in the scenario `storm` (bench/relay): 12 ms without this value,
  // 5.7 ms with it, and 3.5 ms with it and batches of 4 events.
  static constexpr int kNice = 10;
  // The nice value for work that no client awaits, which gets the processor time that other work leaves.
  static constexpr int kBulkNice = 15;

  // Starts `threads` threads, or one if `threads` is 0.
  explicit WorkPool(size_t threads, int nice = kNice);
  // Waits until all submitted tasks have run, then ends the threads.
  ~WorkPool();

  // Queues a task, which is called once, on one of the threads. `expected` is the work that it will probably cost. The
  // task returns the work that it has cost; a task that returns void counts as `expected`. A std::exception from the
  // task is logged, and the task then counts as kTurnWork.
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
  // The expected work of a task if the caller states none.
  static constexpr Work kUsualWork = kTurnWork / 8;
  template <typename Task>
  void Submit(Urgency urgency, const Party& party, Task task) {
    Submit(urgency, party, kUsualWork, std::move(task));
  }

  size_t threads() const;
  size_t waiting() const;  // the number of tasks that have not begun

  // The groups (addresses) and the parties (connections) that have cost the most work, in descending order
  // (heavy_takers.h). Their work counts from the start, unless a caller makes old work fade with FadeTakers, for
  // example once a second.
  struct Heaviest {
    std::vector<HeavyTakers::Taker> groups;
    std::vector<HeavyTakers::Taker> parties;
  };
  Heaviest HeaviestTakers() const;
  // Multiplies the work that HeaviestTakers reports by `share`, from 0 to 1. The turns do not depend on it.
  void FadeTakers(double share);

 private:
  void Enqueue(Urgency urgency, const Party& party, Work expected, std::function<Work()> task);

  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
