#include "relay/retention/age_sweep.h"

#include <optional>
#include <utility>

namespace weir {
namespace {

// The work of the reads between two removals, which bounds the number of ids that are remembered.
constexpr Work kReadBetweenRemovals = 16 * kTurnWork;

QueryOptions ReadEverything() {
  QueryOptions options;
  options.default_limit = options.max_limit = kAllEvents;
  options.fills_cache = false;
  return options;
}

}  // namespace

Status AgeSweep::Run(const RetentionRules& rules, uint64_t now_seconds,
                     const std::function<void(size_t rule, uint64_t events)>& removed) {
  for (size_t i = 0; i < rules.remove.size(); ++i) {
    QueryOptions options = ReadEverything();
    Work most = kReadBetweenRemovals;
    bool done = false;
    while (!done) {
      std::vector<EventId> ids;
      std::optional<EventPlace> last;
      const Result<bool> read =
          parts_.reads.Read({rules.remove[i].Candidates(now_seconds)}, options, most, [&](EventView event) {
            last = {event.created_at(), event.id()};
            if (rules.RemovedBy(event, parts_.RungOf(event), now_seconds) == i) ids.push_back(event.id());
          });
      if (!read.ok()) return read.status();
      done = read.value();
      // Without a match there is no new place, so the next query needs more work to find one.
      most = last ? kReadBetweenRemovals : 2 * most;
      if (last) options.after = last;
      if (ids.empty()) removed(i, 0);
      for (size_t begin = 0; begin < ids.size(); begin += kRemovedTogether) {
        const size_t count = std::min(kRemovedTogether, ids.size() - begin);
        const Result<uint64_t> gone = parts_.remove(std::span(ids).subspan(begin, count));
        if (!gone.ok()) return gone.status();
        removed(i, gone.value());
      }
    }
  }
  return Status();
}

}  // namespace weir
