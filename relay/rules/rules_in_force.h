// RulesInForce: the rules that hold now. It reads them from weir.yaml when Open is called, again when the file or a
// file of keys changes, and at ReadSoon. A file that is wrong changes nothing: the error is logged, and the rules stay.
//
// The decisions are those of DecidedLists (decided_lists.h), which administrators change while the relay runs, and then
// those of Rules (rules.h). This object also counts the refusals.
//
// Threads: any thread may call any function; Open and Stop belong to the owner. A decision takes a reference to the
// rules under a lock that nobody holds for longer than that; files are read, and old rules destroyed, without it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/rules/decided_lists.h"
#include "relay/rules/rules.h"
#include "relay/rules/rules_reader.h"

namespace weir {

template <typename Read>
class FollowedRules;  // relay/limiters/followed_rules.h, whose log every source of relay/protocol would include

class RulesInForce {
 public:
  // Until Open or Use is called there are no rules.
  RulesInForce();
  ~RulesInForce();

  // Reads the rules in the file at `path`, and follows it from now on, with a look at it every `interval`. An empty
  // path means that there is no file, and no rules. Returns an error if the file is wrong. Call it once.
  Status Open(const std::string& path, std::chrono::milliseconds interval = std::chrono::milliseconds(900));
  // Asks another thread to read the file again, and returns at once. Does nothing before Open has succeeded.
  void ReadSoon();
  // Ends the following of the file. Waits until a reading that has begun is finished.
  void Stop();
  // Replaces the rules.
  void Use(std::shared_ptr<const Rules> rules);

  // Returns the rules of the file; never null.
  std::shared_ptr<const Rules> Now() const;
  // Returns the lists of the administrators, which may be changed at any time.
  DecidedLists& decided() { return decided_; }
  const DecidedLists& decided() const { return decided_; }

  // These functions decide as the functions of Rules with the same names.
  Ruling JudgeEvent(EventView event, const RuleClient& sender, uint64_t now_seconds);
  std::unique_ptr<WordSearch> SearchWords(EventView event, const RuleClient& sender) const;
  Ruling JudgeWords(const WordSearch& search) { return Counted(Rules::JudgeWords(search), &refused_events_); }
  Ruling TakeRates(EventView event, const RuleClient& sender, TimePoint now);
  Ruling JudgeRead(std::span<const Filter> filters, const RuleClient& reader);
  bool MaySee(EventView event) const {
    return decided_.MaySee(event) && (!hides_.load(std::memory_order_relaxed) || Now()->MaySee(event));
  }
  bool MayHide(std::span<const Filter> filters) const {
    return decided_.MayHide(filters) || (hides_.load(std::memory_order_relaxed) && Now()->MayHide(filters));
  }
  // Returns the conditions of the file and of the administrators.
  RuleLimits limits() const;
  // Returns a number that changes whenever the rules of the file are replaced, or a list of the administrators changes
  // that hides events or keeps clients from reading.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire) + decided_.generation(); }
  // Returns true if the content of events is searched, which costs time for each byte.
  bool searches_content() const { return searches_content_.load(std::memory_order_relaxed); }

  // Returns how many events and requests the rules of a kind have refused.
  struct Refusals {
    uint64_t events = 0;
    uint64_t requests = 0;
  };
  Refusals RefusalsBy(RuleKind kind) const;
  // Sets the function that is called after each later reading of the file; `good` is true if its rules are in force
  // now. Call it before Open.
  void OnRead(std::function<void(bool good)> on_read) { on_read_ = std::move(on_read); }

 private:
  using Counts = std::array<std::atomic<uint64_t>, std::size(kRuleKindNames)>;

  static Ruling Counted(Ruling ruling, Counts* counts);
  RuleClient WithDecisions(EventView event, const RuleClient& sender) const;
  std::vector<std::string> Files() const;
  Result<RulesRead> Read(const std::string& path, const RulesRead* running);

  DecidedLists decided_;
  Counts refused_events_{};
  Counts refused_requests_{};
  std::function<void(bool good)> on_read_ = [](bool) {};

  std::atomic<bool> judges_writes_{false};
  std::atomic<bool> judges_reads_{false};
  std::atomic<bool> hides_{false};
  std::atomic<bool> searches_content_{false};
  std::atomic<uint64_t> generation_{0};
  mutable Mutex mutex_;
  std::shared_ptr<const Rules> rules_ WEIR_GUARDED_BY(mutex_) = std::make_shared<Rules>();
  std::vector<std::string> files_ WEIR_GUARDED_BY(mutex_);  // that the newest reading asked for

  std::unique_ptr<FollowedRules<RulesRead>> followed_;  // null before Open; destroyed first
};

}  // namespace weir
