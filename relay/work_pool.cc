#include "relay/work_pool.h"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {
namespace {

using Task = std::function<void()>;

constexpr uint32_t kUrgentInARow = 7;

// One task that fails (out of memory, say) is not the end of the thread, and with it of everybody's connection.
void RunAndForget(Task task) {
  try {
    task();
    task = nullptr;  // what it owns may submit when it ends
  } catch (const std::exception& e) {
    spdlog::error("a task of the workers failed: {}", e.what());
  }
}

// Lines in a ring, one task each in turn. A few empty ones are kept for those who come next: each has at least a
// deque's first block, half a kilobyte.
template <typename Line, uint64_t (*kKeyOf)(const Party&), size_t kSpare>
class Ring {
 public:
  bool empty() const { return ring_.empty(); }

  void Push(const Party& party, Task task) {
    const uint64_t key = kKeyOf(party);
    const auto [entry, is_new] = places_.try_emplace(key);
    if (is_new) {
      if (spare_.empty()) spare_.emplace_front();
      ring_.splice(ring_.end(), spare_, spare_.begin());
      entry->second = std::prev(ring_.end());
      entry->second->key = key;
    }
    entry->second->line.Push(party, std::move(task));
  }

  Task Pop() {
    Place& place = ring_.front();
    Task task = place.line.Pop();
    if (!place.line.empty()) {
      ring_.splice(ring_.end(), ring_, ring_.begin());
      return task;
    }
    places_.erase(place.key);
    spare_.splice(spare_.begin(), ring_, ring_.begin());
    if (spare_.size() > kSpare) spare_.pop_back();
    return task;
  }

 private:
  struct Place {
    uint64_t key = 0;
    Line line;
  };

  std::list<Place> ring_;
  std::list<Place> spare_;
  std::unordered_map<uint64_t, typename std::list<Place>::iterator> places_;
};

class Tasks {
 public:
  bool empty() const { return tasks_.empty(); }
  void Push(const Party&, Task task) { tasks_.push_back(std::move(task)); }
  Task Pop() {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

 private:
  std::deque<Task> tasks_;
};

uint64_t IdOf(const Party& party) { return party.id; }
uint64_t GroupOf(const Party& party) { return party.group == 0 ? party.id : party.group; }

// The tasks of one urgency.
using Parties = Ring<Tasks, IdOf, 2>;
using Lane = Ring<Parties, GroupOf, 64>;

}  // namespace

struct WorkPool::Rep {
  explicit Rep(size_t thread_count) : most_long(std::max<size_t>(1, thread_count - 1)) {}

  void Run(int nice);
  Lane& LaneOf(Urgency urgency) { return lanes[static_cast<size_t>(urgency)]; }
  bool LongMayRun() { return !LaneOf(Urgency::kLong).empty() && long_running < most_long; }
  bool Runnable() { return !LaneOf(Urgency::kUrgent).empty() || !LaneOf(Urgency::kFair).empty() || LongMayRun(); }
  Urgency Choose();

  const size_t most_long;

  mutable std::mutex mutex;
  std::condition_variable wake_up;
  std::array<Lane, kUrgencies> lanes;
  size_t waiting = 0;
  size_t sleeping = 0;
  size_t long_running = 0;
  uint32_t urgent_in_a_row = 0;
  bool long_is_next = false;
  bool ending = false;

  std::vector<std::thread> threads;
};

// Whose turn it is, where something is runnable.
Urgency WorkPool::Rep::Choose() {
  const bool fair = !LaneOf(Urgency::kFair).empty();
  const bool long_may_run = LongMayRun();
  const bool others = fair || long_may_run;
  if (!LaneOf(Urgency::kUrgent).empty() && (!others || urgent_in_a_row < kUrgentInARow)) {
    ++urgent_in_a_row;
    return Urgency::kUrgent;
  }
  urgent_in_a_row = 0;
  const bool long_task = long_may_run && (!fair || long_is_next);
  long_is_next = !long_task;
  return long_task ? Urgency::kLong : Urgency::kFair;
}

void WorkPool::Rep::Run(int nice) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice);
  std::unique_lock lock(mutex);
  while (true) {
    if (!Runnable()) {
      if (ending && waiting == 0) return;
      ++sleeping;
      wake_up.wait(lock, [this] { return Runnable() || (ending && waiting == 0); });
      --sleeping;
      continue;
    }
    const Urgency urgency = Choose();
    const bool is_long = urgency == Urgency::kLong;
    Task task = LaneOf(urgency).Pop();
    --waiting;
    if (is_long) ++long_running;
    // Nobody was woken for a long task while it had to wait.
    const bool wake = !is_long && sleeping > 0 && LongMayRun();
    lock.unlock();
    if (wake) wake_up.notify_one();
    RunAndForget(std::move(task));
    lock.lock();
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

WorkPool::~WorkPool() {
  {
    const std::lock_guard lock(rep_->mutex);
    rep_->ending = true;
  }
  rep_->wake_up.notify_all();
  for (std::thread& thread : rep_->threads) thread.join();
}

void WorkPool::Submit(Urgency urgency, const Party& party, std::function<void()> task) {
  bool wake = false;
  {
    const std::lock_guard lock(rep_->mutex);
    rep_->LaneOf(urgency).Push(party, std::move(task));
    ++rep_->waiting;
    wake = rep_->sleeping > 0 && (urgency != Urgency::kLong || rep_->LongMayRun());
  }
  if (wake) rep_->wake_up.notify_one();
}

size_t WorkPool::threads() const { return rep_->threads.size(); }

size_t WorkPool::waiting() const {
  const std::lock_guard lock(rep_->mutex);
  return rep_->waiting;
}

}  // namespace weir
