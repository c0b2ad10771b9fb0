// Sweeper: the thread that removes events by the rules of retention (age_sweep.h) and for the disk budget
// (budget_sweep.h). It reads the store and removes events as bulk work, which the throttle admits only when clients
// leave room. It keeps no state on disk: after a crash it looks again what is to go.
//
// A second thread looks at the size of the store. So the budget says that there is no room also while the throttle
// holds up a removal.
//
// While rules or the budget ask for the standing of authors, and the relay has not learned it yet, nothing that depends
// on it is removed: a regular must not count as a stranger. If the ladder is off, rules that ask for standing are not
// carried out at all.
//
// Threads: any thread may call Stats. Start and Stop belong to the owner. Without Start, one thread may call GoOn, as
// tests do.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/retention/age_sweep.h"
#include "relay/retention/budget_sweep.h"
#include "relay/retention/disk_budget.h"
#include "relay/retention/filtered_removal.h"
#include "relay/rules/rules.h"
#include "relay/store/believed_clock.h"

namespace weir {

struct SweeperStats {
  std::map<std::string, uint64_t> removed_by_rule;    // events, by the name of the rule
  std::array<uint64_t, kRungs> removed_for_budget{};  // events, by the rung of their author
  uint64_t failures = 0;                              // sweeps that ended with an error; they are tried again
  std::string trouble;                                // why not everything is removed that should be; or empty
};

class Sweeper {
 public:
  // The knowledge about the standing of authors.
  enum class Standing : uint8_t { kOff, kLearning, kKnown };

  struct Parts {
    const EventStore& store;
    std::string directory;  // the store's, whose files all count for the budget; empty: its tables count
    BulkReads::Admit admit;
    FilteredRemoval::Remove remove;                       // removes as bulk work
    std::function<std::shared_ptr<const Rules>()> rules;  // the rules that hold now
    std::function<Rung(const PublicKey& author)> rung;    // empty if the ladder is off
    std::function<Standing()> standing;
    DiskBudget* budget = nullptr;  // null if there is none
    const Clock& clock;
    const WallClock& wall_clock;
  };

  static constexpr Duration kLookEvery = std::chrono::seconds(2);

  // All that `parts` names must outlive the object.
  explicit Sweeper(Parts parts);
  ~Sweeper();  // calls Stop

  void Start();
  // Ends the threads soon. A removal that waits is cancelled.
  void Stop();
  // Looks once, and removes what has to go. Waits for the limiter's admissions.
  void GoOn();

  SweeperStats Stats() const;

 private:
  void RepeatUntilStop(void (Sweeper::*step)());
  void LookAtSizes();
  void Sweep();
  Result<uint64_t> Remove(std::span<const EventId> ids);
  std::string FullBudget() const;
  std::string TroubleWith(const RetentionRules& rules, bool* by_age, bool* for_budget) const;
  Status SweepForBudget(const RetentionRules& rules);
  Status SweepByAge(const RetentionRules& rules, bool for_budget);
  void Note(std::string trouble, const Status& status);

  const Parts parts_;
  BulkReads reads_;
  AgeSweep age_;
  BudgetSweep for_budget_;
  BelievedClock believed_;  // a clock that was set ahead must not remove everything
  std::shared_ptr<const Rules> rules_;
  TimePoint age_due_{};
  bool failed_ = false;
  std::string told_;       // the trouble that was logged last
  bool was_full_ = false;  // used by LookAtSizes only

  mutable Mutex mutex_;
  Condition changed_;
  std::atomic<bool> stopped_{false};  // written under mutex_ only
  SweeperStats stats_ WEIR_GUARDED_BY(mutex_);

  // The last members, because they use the others.
  std::thread thread_;
  std::thread looker_;  // calls LookAtSizes; only with a budget
};

}  // namespace weir
