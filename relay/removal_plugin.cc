#include "relay/removal_plugin.h"

#include <algorithm>
#include <string>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/management/removal_methods.h"

namespace weir {

Status RemovalPlugin::Start(const RelayServices& services) {
  EventPipeline& events = services.events;
  jobs_ = std::make_unique<RemovalJobs>(
      services.context.store, AdmitAsBulk(services.context.limiter, Operation::kRead),
      [&events](std::span<const EventId> ids, const std::atomic<bool>& cancelled) {
        return events.RemoveBulk(ids, &cancelled);
      },
      services.context.wall_clock);
  AddRemovalMethods(methods_, *jobs_);
  open_ = true;
  return Status();
}

void RemovalPlugin::Stop() {
  if (open_) jobs_->Stop();
}

void RemovalPlugin::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  const std::vector<RemovalState> states = jobs_->List();
  families.Gauge("weir_delete_going_on", "Removals by filter that go on: 0 or 1")
      .Add(static_cast<uint64_t>(std::ranges::count_if(states, &RemovalState::goes_on)));
  families.Counter("weir_delete_removed_events_total", "Events that administrators have removed by filter")
      .Add(jobs_->removed());
}

void RemovalPlugin::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  LiveTable& table = tables.Add("delete", "Removal by filter",
                                {{"by"}, {"order"}, {"state"}, {"match", true}, {"removed", true}, {"events/s", true}});
  for (const RemovalState& state : jobs_->List()) {
    const double rate = tables.PerSecond("delete." + std::to_string(state.id), static_cast<double>(state.removed));
    if (!state.goes_on()) continue;
    table.AddRow({state.by, Printable(state.order), std::string(NameOf(state.phase)), ShortNumber(state.matched),
                  ShortNumber(state.removed), ShortNumber(RoundedCount(rate))});
  }
}

}  // namespace weir
