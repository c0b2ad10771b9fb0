#include "relay/protocol/save_allowed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/mutex.h"

namespace weir {
namespace {

// Half of the most questions of an import that are under way. If there were more, the events of clients would wait
// behind them, and a plugin that needs 5 ms for an event would not answer a large batch within its time.
constexpr size_t kHalfAtOnce = 32;

// A batch of events about which the plugin is asked.
class AskedBatch {
 public:
  AskedBatch(PolicyPlugin& plugin, uint64_t received_at, std::span<const Event> events, const PluginSource& source)
      : plugin_(plugin), received_at_(received_at), events_(events), source_(source), verdicts_(events.size()) {}
  // Waits for the callbacks of the questions under way, because they use this object.
  ~AskedBatch() { (void)Await(asked_); }
  AskedBatch(const AskedBatch&) = delete;
  AskedBatch& operator=(const AskedBatch&) = delete;

  // Asks about the events and blocks until the questions are settled. Stops asking, and returns the refusal as an
  // error, if the plugin gives no answer and the operator's rule is to refuse then.
  Status Ask() {
    for (; asked_ < events_.size(); ++asked_) {
      if (asked_ % kHalfAtOnce == 0 && !Await(asked_ - std::min(asked_, kHalfAtOnce)).ok()) break;
      plugin_.Ask(QuestionAbout(events_[asked_].view(), received_at_, source_),
                  [this, i = asked_](PluginVerdict verdict) { Settle(i, std::move(verdict)); });
    }
    return Await(asked_);
  }
  // Returns the verdicts in the order of the events. May be called after Ask has succeeded.
  const std::vector<PluginVerdict>& verdicts() const { return verdicts_; }

 private:
  void Settle(size_t i, PluginVerdict verdict) {
    const MutexLock lock(mutex_);
    if (!verdict.answered && verdict.action != PluginAction::kAccept) failed_ = Status::Error(verdict.refusal);
    verdicts_[i] = std::move(verdict);
    if (++settled_ == awaited_) changed_.notify_all();
  }
  // Waits until so many questions are settled. Returns an error if one of them has failed.
  Status Await(size_t settled) {
    MutexLock lock(mutex_);
    awaited_ = settled;
    changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return settled_ >= awaited_; });
    return failed_;
  }

  PolicyPlugin& plugin_;
  const uint64_t received_at_;
  const std::span<const Event> events_;
  const PluginSource source_;
  std::vector<PluginVerdict> verdicts_;  // the callback of a question writes its element
  size_t asked_ = 0;
  Mutex mutex_;
  Condition changed_;
  size_t settled_ WEIR_GUARDED_BY(mutex_) = 0;
  size_t awaited_ WEIR_GUARDED_BY(mutex_) = 0;  // the number of settled questions for which Await waits
  Status failed_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace

Status SaveChosen(const std::vector<bool>& chosen, std::span<const Event> events, std::span<SaveResult> results,
                  const SaveEvents& save) {
  std::vector<Event> some;
  std::vector<size_t> places;
  for (size_t i = 0; i < events.size(); ++i) {
    if (!chosen[i]) continue;
    some.push_back(events[i]);
    places.push_back(i);
  }
  std::vector<SaveResult> saved(some.size());
  Status status = some.empty() ? Status() : save(some, saved);
  for (size_t i = 0; i < events.size(); ++i) {
    if (!chosen[i]) results[i] = {.outcome = SaveOutcome::kRefused, .settled = true};
  }
  for (size_t i = 0; i < places.size(); ++i) results[places[i]] = saved[i];
  return status;
}

Status SaveAllowed(PolicyPlugin& plugin, uint64_t received_at, std::span<const Event> events,
                   std::span<SaveResult> results, const SaveEvents& save, const PluginSource& source) {
  AskedBatch asked(plugin, received_at, events, source);
  if (Status failed = asked.Ask(); !failed.ok()) return failed;
  std::vector<bool> accepted;
  for (const PluginVerdict& verdict : asked.verdicts()) accepted.push_back(verdict.action == PluginAction::kAccept);
  return SaveChosen(accepted, events, results, save);
}

}  // namespace weir
