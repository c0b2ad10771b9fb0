#include "relay/account/work_pool.h"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "relay/account/turns.h"

namespace weir {
namespace {

struct Task {
  std::function<Work()> run;
  uint64_t party = 0;
};

constexpr uint32_t kUrgentInARow = 7;
// By so much an address with urgent tasks goes ahead of those that have none.
constexpr int64_t kUrgentLead = kTurnWork;
// A task counts as so much until it has said what it was.
constexpr int64_t kAssumedWork = WorkPool::kUsualWork;

// One task that fails (out of memory, say) is not the end of the thread, and with it of everybody's connection.
Work RunAndForget(Task task) {
  Work work = kTurnWork;
  try {
    work = task.run();
    task.run = nullptr;  // what it owns may submit when it ends
  } catch (const std::exception& e) {
    spdlog::error("a task of the workers failed: {}", e.what());
  }
  return work;
}

// The tasks of connections, which take turns.
using Lane = TurnRing<Task, PartyLine<Task>, PartyOf, 0>;

// Who comes first: the least work used, then the longest here.
using Turn = std::pair<int64_t, uint64_t>;

struct Group {
  Lane& LaneOf(Urgency urgency) { return lanes[static_cast<size_t>(urgency)]; }
  bool has_short() { return !LaneOf(Urgency::kUrgent).empty() || !LaneOf(Urgency::kFair).empty(); }
  bool has_long() { return !LaneOf(Urgency::kLong).empty(); }
  Urgency Choose(bool long_may_run);

  uint64_t key = 0;
  uint64_t number = 0;
  int64_t used = 0;
  size_t running = 0;
  std::array<Lane, kUrgencies> lanes;
  uint32_t urgent_in_a_row = 0;
  bool long_is_next = false;
  // Where it stands in the lines.
  std::optional<Turn> short_turn;
  std::optional<Turn> long_turn;
  std::optional<Turn> idle_turn;
};

// Whose turn it is, where something is runnable.
Urgency Group::Choose(bool long_may_run) {
  const bool fair = !LaneOf(Urgency::kFair).empty();
  const bool long_task_waits = long_may_run && has_long();
  const bool others = fair || long_task_waits;
  if (!LaneOf(Urgency::kUrgent).empty() && (!others || urgent_in_a_row < kUrgentInARow)) {
    ++urgent_in_a_row;
    return Urgency::kUrgent;
  }
  urgent_in_a_row = 0;
  const bool long_task = long_task_waits && (!fair || long_is_next);
  long_is_next = !long_task;
  return long_task ? Urgency::kLong : Urgency::kFair;
}

// The addresses in the order of their turns. One that has nothing to do is remembered until the others have used as
// much, or it would come back with a clean slate.
class Groups {
 public:
  Group& Find(uint64_t key) {
    const auto [entry, is_new] = groups_.try_emplace(key);
    Group& group = entry->second;
    if (is_new) {
      group.key = key;
      group.used = now_;
    }
    if (is_new || group.idle_turn) group.number = ++last_number_;
    return group;
  }
  bool has_short() const { return !short_.empty(); }
  bool has_long() const { return !long_.empty(); }

  Group& Next(bool long_may_run) {
    const bool by_long =
        long_may_run && !long_.empty() && (short_.empty() || long_.begin()->first < short_.begin()->first);
    const auto& [turn, group] = by_long ? *long_.begin() : *short_.begin();
    Group& next = *group;
    now_ = std::max(now_, turn.first);
    while (!idle_.empty() && idle_.begin()->first.first <= now_) {
      const uint64_t key = idle_.begin()->second->key;
      idle_.erase(idle_.begin());
      groups_.erase(key);
    }
    return next;
  }

  // After any change of a group; it may be gone then.
  void Place(Group& group) {
    Leave(short_, group.short_turn);
    Leave(long_, group.long_turn);
    Leave(idle_, group.idle_turn);
    const bool urgent = !group.LaneOf(Urgency::kUrgent).empty();
    if (group.has_short()) Join(short_, group.short_turn, group.used - (urgent ? kUrgentLead : 0), group);
    if (group.has_long()) Join(long_, group.long_turn, group.used, group);
    if (group.short_turn || group.long_turn || group.running > 0) return;
    if (group.used <= now_) {
      groups_.erase(group.key);
    } else {
      Join(idle_, group.idle_turn, group.used, group);
    }
  }

 private:
  using Line = std::map<Turn, Group*>;

  static void Leave(Line& line, std::optional<Turn>& turn) {
    if (turn) line.erase(*turn);
    turn.reset();
  }
  static void Join(Line& line, std::optional<Turn>& turn, int64_t used, Group& group) {
    turn.emplace(used, group.number);
    line.emplace(*turn, &group);
  }

  std::unordered_map<uint64_t, Group> groups_;
  Line short_;
  Line long_;
  Line idle_;
  int64_t now_ = 0;  // what those who wait have used at least
  uint64_t last_number_ = 0;
};

}  // namespace

struct WorkPool::Rep {
  explicit Rep(size_t thread_count) : most_long(std::max<size_t>(1, thread_count - 1)) {}

  void Run(int nice);
  bool LongMayRun() const { return turns.has_long() && long_running < most_long; }
  bool Runnable() const { return turns.has_short() || LongMayRun(); }

  const size_t most_long;

  mutable std::mutex mutex;
  std::condition_variable wake_up;
  Groups turns;
  size_t waiting = 0;
  size_t sleeping = 0;
  size_t long_running = 0;
  bool ending = false;
  HeavyTakers heavy_groups;
  HeavyTakers heavy_parties;

  std::vector<std::thread> threads;
};

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
    const bool long_may_run = LongMayRun();
    Group& group = turns.Next(long_may_run);
    const Urgency urgency = group.Choose(long_may_run);
    const bool is_long = urgency == Urgency::kLong;
    Task task = group.LaneOf(urgency).Pop();
    ++group.running;
    group.used += kAssumedWork;
    turns.Place(group);
    --waiting;
    if (is_long) ++long_running;
    // Nobody was woken for a long task while it had to wait.
    const bool wake = !is_long && sleeping > 0 && LongMayRun();
    lock.unlock();
    if (wake) wake_up.notify_one();
    const uint64_t party = task.party;
    const Work work = RunAndForget(std::move(task));
    lock.lock();
    heavy_groups.Add(group.key, group.key, work);
    heavy_parties.Add(party, group.key, work);
    --group.running;
    group.used += static_cast<int64_t>(work) - kAssumedWork;
    turns.Place(group);
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

void WorkPool::Enqueue(Urgency urgency, const Party& party, std::function<Work()> task) {
  bool wake = false;
  {
    const std::lock_guard lock(rep_->mutex);
    Group& group = rep_->turns.Find(GroupOf(party));
    group.LaneOf(urgency).Push(party, {std::move(task), party.id});
    rep_->turns.Place(group);
    ++rep_->waiting;
    wake = rep_->sleeping > 0 && (urgency != Urgency::kLong || rep_->LongMayRun());
  }
  if (wake) rep_->wake_up.notify_one();
}

size_t WorkPool::threads() const { return rep_->threads.size(); }

WorkPool::Heaviest WorkPool::HeaviestTakers() const {
  const std::lock_guard lock(rep_->mutex);
  return {.groups = rep_->heavy_groups.Heaviest(), .parties = rep_->heavy_parties.Heaviest()};
}

void WorkPool::FadeTakers(double share) {
  const std::lock_guard lock(rep_->mutex);
  rep_->heavy_groups.Fade(share);
  rep_->heavy_parties.Fade(share);
}

size_t WorkPool::waiting() const {
  const std::lock_guard lock(rep_->mutex);
  return rep_->waiting;
}

}  // namespace weir
