#include "relay/retention/sweeper.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

// The most events that one look removes for the budget, so that the sizes are looked at again.
constexpr uint64_t kMostInLook = 50'000;

// Returns the disk space of all files in the directory; 0 if there is no such directory. It takes some microseconds a
// file. For the files that it writes, RocksDB reserves more than their size: 4 MiB for the manifest, a buffer for the
// log, and a whole table for each copy.
uint64_t BytesOfFiles(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator file(directory, error), end; !error && file != end; file.increment(error)) {
    struct stat status {};  // a compaction may remove the file meanwhile
    if (stat(file->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
      bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace

Sweeper::Sweeper(Parts parts)
    : parts_(std::move(parts)),
      reads_(parts_.store, parts_.admit),
      age_({.reads = reads_, .remove = [this](auto ids) { return Remove(ids); }, .rung = parts_.rung}),
      for_budget_({.reads = reads_, .remove = [this](auto ids) { return Remove(ids); }, .rung = parts_.rung}),
      believed_(parts_.wall_clock, parts_.clock) {}

Sweeper::~Sweeper() { Stop(); }

void Sweeper::Start() {
  LookAtSizes();
  thread_ = std::thread([this] { RepeatUntilStop(&Sweeper::Sweep); });
  if (parts_.budget != nullptr) looker_ = std::thread([this] { RepeatUntilStop(&Sweeper::LookAtSizes); });
}

void Sweeper::RepeatUntilStop(void (Sweeper::*step)()) {
  while (!stopped_) {
    const Status done = FaultsAsStatus([this, step] {
      (this->*step)();
      return Status();
    });
    if (!done.ok()) spdlog::error("retention: {}", done.message());
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kLookEvery, [this] { return stopped_.load(); });
  }
}

void Sweeper::Stop() {
  {
    const MutexLock lock(mutex_);
    if (stopped_.exchange(true)) return;
    changed_.notify_all();
  }
  reads_.Stop();
  if (thread_.joinable()) thread_.join();
  if (looker_.joinable()) looker_.join();
}

void Sweeper::GoOn() {
  LookAtSizes();
  Sweep();
}

void Sweeper::LookAtSizes() {
  if (parts_.budget == nullptr) return;
  const StoreSizes sizes = parts_.store.Sizes();
  parts_.budget->Note({.events = sizes.events,
                       .disk_bytes = sizes.disk_bytes,
                       .removed_bytes = parts_.store.RemovedBytes(),
                       .file_bytes = BytesOfFiles(parts_.directory)},
                      parts_.clock.Now());
  const std::string full = FullBudget();
  if (std::exchange(was_full_, !full.empty()) == was_full_) return;
  if (was_full_) {
    spdlog::warn("retention: {}", full);
  } else {
    spdlog::info("retention: there is room for all events again");
  }
}

// Returns the sentence that not every event is taken; empty if there is room for all.
std::string Sweeper::FullBudget() const {
  if (parts_.budget == nullptr || parts_.budget->room() == WriteRoom::kAll) return "";
  return "the store takes " + ReadableBytes(parts_.budget->used_bytes()) + ", with a disk budget of " +
         ReadableBytes(parts_.budget->bytes()) + " (WEIR_MAX_DISK_GB), and not every event is taken";
}

void Sweeper::Sweep() {
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
  if (for_budget) status = SweepForBudget(rules);
  if (status.ok() && by_age && parts_.clock.Now() >= age_due_) status = SweepByAge(rules, for_budget);
  if (parts_.rules() != rules_) status = Status();  // Remove has ended the sweep
  Note(std::move(trouble), status);
}

// A sweep may take hours. It must not go on with rules that do not hold any more.
Result<uint64_t> Sweeper::Remove(std::span<const EventId> ids) {
  if (parts_.rules() != rules_) return Status::Error("the rules have changed");
  Result<uint64_t> removed = parts_.remove(ids, stopped_);
  if (removed.ok() && parts_.budget != nullptr) parts_.budget->NoteRemoved(removed.value());
  return removed;
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
  const uint64_t most = std::min(parts_.budget->events_to_go(), kMostInLook);
  if (most == 0) return Status();
  BudgetSweep::Swept swept;
  Status status = for_budget_.Remove(most, rules, parts_.clock.Now(), &swept);
  if (status.ok()) parts_.budget->NoteNothingLeft(swept.nothing_left);
  const MutexLock lock(mutex_);
  for (size_t rung = 0; rung < kRungs; ++rung) stats_.removed_for_budget[rung] += swept.removed[rung];
  return status;
}

// The sweep may take hours, so the budget is held meanwhile.
Status Sweeper::SweepByAge(const RetentionRules& rules, bool for_budget) {
  const TimePoint begin = parts_.clock.Now();
  std::map<std::string, uint64_t> removed;
  Status of_budget;
  Status status = age_.Run(rules, believed_.NowSeconds(), [&](size_t rule, uint64_t events) {
    if (events > 0) {
      removed[NameOfRemove(rule)] += events;
      const MutexLock lock(mutex_);
      stats_.removed_by_rule[NameOfRemove(rule)] += events;
    }
    if (for_budget) of_budget = SweepForBudget(rules);
  });
  const TimePoint end = parts_.clock.Now();
  age_due_ = end + AgeSweep::PauseAfter(end - begin);
  for (const auto& [rule, events] : removed) spdlog::info("retention: {} events removed by {}", events, rule);
  return status.ok() ? of_budget : status;
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
  SweeperStats stats;
  {
    const MutexLock lock(mutex_);
    stats = stats_;
  }
  if (stats.trouble.empty()) stats.trouble = FullBudget();
  return stats;
}

}  // namespace weir
