#include "relay/retention/sweeper.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

// The most events that one look removes for the budget, so that the sizes are looked at again.
constexpr uint64_t kMostInLook = 50'000;

SweepParts PartsOf(const Sweeper::Parts& parts, BulkReads& reads) {
  return {.reads = reads, .remove = parts.remove, .rung = parts.rung};
}

}  // namespace

Sweeper::Sweeper(Parts parts)
    : parts_(std::move(parts)),
      reads_(parts_.store, parts_.admit),
      age_(PartsOf(parts_, reads_)),
      for_budget_(PartsOf(parts_, reads_)),
      believed_(parts_.wall_clock, parts_.clock) {}

Sweeper::~Sweeper() { Stop(); }

void Sweeper::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Sweeper::Run() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    const Result<bool> done = FaultsAsErrors<bool>([this] {
      GoOn();
      return true;
    });
    if (!done.ok()) spdlog::error("retention: {}", done.status().message());
    lock.lock();
    changed_.wait_for(lock, kLookEvery, [this]() WEIR_REQUIRES(mutex_) { return stopped_; });
  }
}

void Sweeper::Stop() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    changed_.notify_all();
  }
  reads_.Stop();
  if (thread_.joinable()) thread_.join();
}

void Sweeper::GoOn() {
  if (std::shared_ptr<const Rules> rules = parts_.rules(); rules != rules_) {
    rules_ = std::move(rules);
    for_budget_.BeginAgain();
    age_due_ = {};
  }
  believed_.NowSeconds();
  const RetentionRules& rules = rules_->set().retention;
  bool by_age = false;
  bool for_budget = false;
  std::string trouble = TroubleWith(rules, &by_age, &for_budget);
  Status status;
  if (parts_.budget != nullptr) {
    const StoreSizes sizes = parts_.store.Sizes();
    parts_.budget->Note(
        {.events = sizes.events, .disk_bytes = sizes.disk_bytes, .removed_bytes = parts_.store.RemovedBytes()},
        parts_.clock.Now());
    if (for_budget && parts_.budget->events_to_go() > 0) status = SweepForBudget(rules);
    if (status.ok() && parts_.budget->room() != WriteRoom::kAll && trouble.empty())
      trouble = "the store takes " + ReadableBytes(parts_.budget->used_bytes()) + ", with a disk budget of " +
                ReadableBytes(parts_.budget->bytes()) + " (WEIR_MAX_DISK_GB), and not every event is taken";
  }
  if (status.ok() && by_age && parts_.clock.Now() >= age_due_) status = SweepByAge(rules);
  Note(std::move(trouble), status);
}

// Returns why a sweep cannot be made, and sets which can.
std::string Sweeper::TroubleWith(const RetentionRules& rules, bool* by_age, bool* for_budget) const {
  const bool has_budget = parts_.budget != nullptr;
  *by_age = !rules.remove.empty();
  *for_budget = has_budget;
  const Standing standing = parts_.standing();
  if (standing == Standing::kKnown || (rules.empty() && !has_budget)) return "";
  const bool asks = rules.AsksForStanding();
  if (standing == Standing::kOff) {
    if (!asks) return "";
    *by_age = *for_budget = false;
    return "nothing is removed, because rules of relay.retention ask for the standing of authors, and WEIR_LADDER=off "
           "measures none";
  }
  *for_budget = false;
  *by_age = *by_age && !asks;
  return asks || has_budget ? "nothing is removed by standing until the relay has learned it from the stored events"
                            : "";
}

Status Sweeper::SweepForBudget(const RetentionRules& rules) {
  BudgetSweep::Swept swept;
  const uint64_t most = std::min(parts_.budget->events_to_go(), kMostInLook);
  Status status = for_budget_.Remove(most, rules, parts_.clock.Now(), &swept);
  if (status.ok()) parts_.budget->NoteNothingLeft(swept.nothing_left);
  uint64_t removed = 0;
  for (const uint64_t events : swept.removed) removed += events;
  parts_.budget->NoteRemoved(removed);
  const MutexLock lock(mutex_);
  for (size_t rung = 0; rung < kRungs; ++rung) stats_.removed_for_budget[rung] += swept.removed[rung];
  return status;
}

Status Sweeper::SweepByAge(const RetentionRules& rules) {
  const TimePoint begin = parts_.clock.Now();
  std::map<std::string, uint64_t> removed;
  Status status = age_.Run(rules, believed_.NowSeconds(), [&](size_t rule, uint64_t events) {
    removed[NameOfRemove(rule)] += events;
    if (parts_.budget != nullptr) parts_.budget->NoteRemoved(events);
    const MutexLock lock(mutex_);
    stats_.removed_by_rule[NameOfRemove(rule)] += events;
  });
  const TimePoint end = parts_.clock.Now();
  age_due_ = end + AgeSweep::PauseAfter(end - begin);
  for (const auto& [rule, events] : removed)
    if (events > 0) spdlog::info("retention: {} events removed by {}", events, rule);
  return status;
}

// Logs trouble and failures when they begin and end.
void Sweeper::Note(std::string trouble, const Status& status) {
  const bool failed = !status.ok();
  if (failed) trouble = "events could not be removed: " + status.message();
  const MutexLock lock(mutex_);
  if (stopped_) return;
  if (failed) ++stats_.failures;
  if (failed != failed_ || (!failed && trouble.empty() != told_.empty())) {
    if (trouble.empty()) {
      spdlog::info("retention: the trouble is over");
    } else {
      spdlog::warn("retention: {}", trouble);
    }
  }
  failed_ = failed;
  told_ = trouble;
  stats_.trouble = std::move(trouble);
}

SweeperStats Sweeper::Stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace weir
