#include "relay/protocol/save_allowed.h"

#include <utility>
#include <vector>

#include "config/mutex.h"

namespace weir {
namespace {

// Asks about all events at once. Returns the verdicts in the order of the events.
std::vector<PluginVerdict> AskAboutAll(PolicyPlugin& plugin, uint64_t received_at, std::span<const Event> events) {
  std::vector<PluginVerdict> verdicts(events.size());
  Mutex mutex;
  Condition changed;
  size_t left = events.size();
  for (size_t i = 0; i < events.size(); ++i) {
    plugin.Ask(QuestionAbout(events[i].view(), received_at, kImportSource), [&, i](PluginVerdict verdict) {
      const MutexLock lock(mutex);
      verdicts[i] = std::move(verdict);
      if (--left == 0) changed.notify_all();
    });
  }
  MutexLock lock(mutex);
  changed.wait(lock, [&left] { return left == 0; });
  return verdicts;
}

}  // namespace

Status SaveAllowed(PolicyPlugin& plugin, uint64_t received_at, std::span<const Event> events,
                   std::span<SaveResult> results,
                   const std::function<Status(std::span<const Event>, std::span<SaveResult>)>& save) {
  const std::vector<PluginVerdict> verdicts = AskAboutAll(plugin, received_at, events);
  std::vector<Event> allowed;
  std::vector<size_t> places;
  for (size_t i = 0; i < events.size(); ++i) {
    const PluginVerdict& verdict = verdicts[i];
    if (verdict.action == PluginAction::kAccept) {
      allowed.push_back(events[i]);
      places.push_back(i);
    } else if (!verdict.answered) {
      return Status::Error(verdict.refusal);
    }
  }
  std::vector<SaveResult> saved(allowed.size());
  Status status = allowed.empty() ? Status() : save(allowed, saved);
  for (size_t i = 0; i < events.size(); ++i) {
    if (verdicts[i].action != PluginAction::kAccept) results[i] = {.outcome = SaveOutcome::kRefused, .settled = true};
  }
  for (size_t i = 0; i < places.size(); ++i) results[places[i]] = saved[i];
  return status;
}

}  // namespace weir
