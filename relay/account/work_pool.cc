#include "relay/account/work_pool.h"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "relay/account/turns.h"

namespace weir {
namespace {

struct Task {
  std::function<Work()> run;
  Party party;
};

constexpr uint32_t kUrgentInARow = 7;
// The work that an address which used less than its part may ask for ahead of others: a REQ for 500 events has two
// slices of half a turn to a turn each.
constexpr Work kCredit = 4 * kTurnWork;

// Catches exceptions: a task that fails, because memory runs out for example, must not end the program.
Work RunAndForget(std::function<Work()> run) {
  Work work = kTurnWork;
  try {
    work = run();
    run = nullptr;  // destroys the task without the mutex, because objects that it owns may submit tasks when they end
  } catch (const std::exception& e) {
    spdlog::error("a task of the workers failed: {}", e.what());
  }
  return work;
}

// The tasks of one kind that an address has. Its connections take turns.
using Lane = PartyTurns<Task>;

// An address. It is of FairTurns::Sort::kSecond while only long tasks wait.
struct Group : FairLine {
  Lane& LaneOf(Urgency urgency) { return lanes[static_cast<size_t>(urgency)]; }
  const Lane& LaneOf(Urgency urgency) const { return lanes[static_cast<size_t>(urgency)]; }
  bool has_short() const { return !LaneOf(Urgency::kUrgent).empty() || !LaneOf(Urgency::kFair).empty(); }
  bool has_long() const { return !LaneOf(Urgency::kLong).empty(); }
  Urgency Next(bool long_may_run) const;
  void Note(Urgency chosen);

  uint64_t key = 0;
  std::array<Lane, kUrgencies> lanes;
  uint32_t urgent_in_a_row = 0;
  bool long_is_next = false;
};

// Returns the kind of the task that is next. Requires that a task is runnable.
Urgency Group::Next(bool long_may_run) const {
  const bool fair = !LaneOf(Urgency::kFair).empty();
  const bool long_task_waits = long_may_run && has_long();
  const bool others = fair || long_task_waits;
  if (!LaneOf(Urgency::kUrgent).empty() && (!others || urgent_in_a_row < kUrgentInARow)) return Urgency::kUrgent;
  return long_task_waits && (!fair || long_is_next) ? Urgency::kLong : Urgency::kFair;
}

void Group::Note(Urgency chosen) {
  urgent_in_a_row = chosen == Urgency::kUrgent ? urgent_in_a_row + 1 : 0;
  if (chosen != Urgency::kUrgent) long_is_next = chosen == Urgency::kFair;
}

// A task whose turn has come, with its group, kind and expected work.
struct Chosen {
  Group& group;
  Urgency urgency;
  Work expected;
  Task task;
};

// The tasks of all addresses, in the order of their turns.
class Tasks {
 public:
  void Push(Urgency urgency, Task&& task, Work expected) {
    Group& group = groups_.Find(GroupOf(task.party));
    const Party party = task.party;
    group.LaneOf(urgency).Push(party, std::move(task), expected);
    WaitOn(group);
  }

  Chosen Pop(bool long_may_run) {
    Group& group = groups_.Next(long_may_run);
    const Urgency urgency = group.Next(long_may_run);
    group.Note(urgency);
    Lane& lane = group.LaneOf(urgency);
    const Work expected = lane.FrontWork();
    groups_.turns().Begin(group, expected);
    Chosen chosen{group, urgency, expected, lane.Pop()};
    WaitOn(group);
    return chosen;
  }

  // Ends a task's turn. The group may no longer exist afterwards.
  void End(const Chosen& chosen, Work work) {
    chosen.group.LaneOf(chosen.urgency).End(chosen.task.party, chosen.expected, work);
    groups_.End(chosen.group, chosen.expected, work);
  }

  bool has_short() const { return groups_.turns().waiting(FairTurns::Sort::kFirst) > 0; }

 private:
  void WaitOn(Group& group) {
    if (!group.has_short() && !group.has_long()) return;
    const Work expected = group.LaneOf(group.Next(!group.has_short())).FrontWork();
    groups_.turns().Wait(group, expected, group.has_short() ? FairTurns::Sort::kFirst : FairTurns::Sort::kSecond);
  }

  FairLines<Group> groups_{kCredit};
};

}  // namespace

struct WorkPool::Rep {
  explicit Rep(size_t thread_count) : most_long(std::max<size_t>(1, thread_count - 1)) {}
  // Joins the threads. Also runs if the constructor of WorkPool cannot start a thread; the earlier threads then run
  // already.
  ~Rep();

  void Run(int nice);
  bool LongMayRun() const WEIR_REQUIRES(mutex) { return long_waiting > 0 && long_running < most_long; }
  bool Runnable() const WEIR_REQUIRES(mutex) { return tasks.has_short() || LongMayRun(); }

  const size_t most_long;

  mutable Mutex mutex;
  Condition wake_up;
  Tasks tasks WEIR_GUARDED_BY(mutex);
  size_t waiting WEIR_GUARDED_BY(mutex) = 0;
  size_t long_waiting WEIR_GUARDED_BY(mutex) = 0;  // the long tasks among the waiting ones
  size_t sleeping WEIR_GUARDED_BY(mutex) = 0;
  size_t long_running WEIR_GUARDED_BY(mutex) = 0;
  bool ending WEIR_GUARDED_BY(mutex) = false;
  HeavyTakers heavy_groups WEIR_GUARDED_BY(mutex);
  HeavyTakers heavy_parties WEIR_GUARDED_BY(mutex);

  std::vector<std::thread> threads;
};

void WorkPool::Rep::Run(int nice) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice);
  MutexLock lock(mutex);
  while (true) {
    if (!Runnable()) {
      if (ending && waiting == 0) return;
      ++sleeping;
      wake_up.wait(lock, [this]() WEIR_REQUIRES(mutex) { return Runnable() || (ending && waiting == 0); });
      --sleeping;
      continue;
    }
    Chosen chosen = tasks.Pop(LongMayRun());
    const bool is_long = chosen.urgency == Urgency::kLong;
    --waiting;
    if (is_long) {
      --long_waiting;
      ++long_running;
    }
    // While long tasks had to wait, no thread was woken for them.
    const bool wake = !is_long && sleeping > 0 && LongMayRun();
    lock.unlock();
    if (wake) wake_up.notify_one();
    const Work work = RunAndForget(std::move(chosen.task.run));
    lock.lock();
    heavy_groups.Add(chosen.group.key, chosen.group.key, work);
    heavy_parties.Add(chosen.task.party.id, chosen.group.key, work);
    tasks.End(chosen, work);
    if (is_long) --long_running;
    if (ending && waiting == 0) wake_up.notify_all();
  }
}

WorkPool::WorkPool(size_t threads, int nice) : rep_(std::make_unique<Rep>(std::max<size_t>(1, threads))) {
  for (size_t i = 0; i < std::max<size_t>(1, threads); ++i) {
    rep_->threads.emplace_back([rep = rep_.get(), nice] { rep->Run(nice); });
    pthread_setname_np(rep_->threads.back().native_handle(), ("weir-work-" + std::to_string(i)).c_str());
  }
}

WorkPool::Rep::~Rep() {
  {
    const MutexLock lock(mutex);
    ending = true;
  }
  wake_up.notify_all();
  for (std::thread& thread : threads) thread.join();
}

WorkPool::~WorkPool() = default;

void WorkPool::Enqueue(Urgency urgency, const Party& party, Work expected, std::function<Work()> task) {
  bool wake = false;
  {
    const MutexLock lock(rep_->mutex);
    rep_->tasks.Push(urgency, {std::move(task), party}, expected);
    ++rep_->waiting;
    if (urgency == Urgency::kLong) ++rep_->long_waiting;
    wake = rep_->sleeping > 0 && (urgency != Urgency::kLong || rep_->LongMayRun());
  }
  if (wake) rep_->wake_up.notify_one();
}

size_t WorkPool::threads() const { return rep_->threads.size(); }

WorkPool::Heaviest WorkPool::HeaviestTakers() const {
  const MutexLock lock(rep_->mutex);
  return {.groups = rep_->heavy_groups.Heaviest(), .parties = rep_->heavy_parties.Heaviest()};
}

void WorkPool::FadeTakers(double share) {
  const MutexLock lock(rep_->mutex);
  rep_->heavy_groups.Fade(share);
  rep_->heavy_parties.Fade(share);
}

size_t WorkPool::waiting() const {
  const MutexLock lock(rep_->mutex);
  return rep_->waiting;
}

}  // namespace weir
