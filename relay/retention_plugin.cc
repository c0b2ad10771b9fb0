#include "relay/retention_plugin.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "config/text/readable.h"
#include "relay/standing/ladder.h"

namespace weir {
namespace {

Sweeper::Parts PartsOf(const RelayServices& services, DiskBudget* budget) {
  RelayContext& context = services.context;
  Ladder* const ladder = context.ladder;
  std::function<Rung(const PublicKey&)> rung;
  if (ladder != nullptr) rung = [ladder](const PublicKey& author) { return ladder->standings().RungOf(author); };
  return {.store = context.store,
          .directory = services.configuration.data_dir + "/events",
          .admit = AdmitAsBulk(context.limiter, Operation::kRead),
          .remove = [&events = services.events](
                        std::span<const EventId> ids,
                        const std::atomic<bool>& cancelled) { return events.RemoveBulk(ids, &cancelled); },
          .rules = [rules = context.rules] { return rules->Now(); },
          .rung = std::move(rung),
          .standing =
              [ladder] {
                if (ladder == nullptr) return Sweeper::Standing::kOff;
                return ladder->standings().is_complete() ? Sweeper::Standing::kKnown : Sweeper::Standing::kLearning;
              },
          .budget = budget,
          .clock = context.clock,
          .wall_clock = context.wall_clock};
}

void TellOfBudget(const DiskBudget& budget, const StoreSizes& sizes) {
  if (sizes.disk_bytes > budget.bytes())
    spdlog::warn(
        "the store takes {}, more than the disk budget of {} (WEIR_MAX_DISK_GB): the oldest events are removed",
        ReadableBytes(sizes.disk_bytes), ReadableBytes(budget.bytes()));
  if (budget.bytes() < DiskBudget::kLeastSteadyBytes)
    spdlog::warn(
        "the disk budget of {} (WEIR_MAX_DISK_GB) is small beside the buffers of the store, so the store may be larger "
        "while much is written; a budget of {} or more holds better",
        ReadableBytes(budget.bytes()), ReadableBytes(DiskBudget::kLeastSteadyBytes));
}

}  // namespace

Status RetentionPlugin::Start(const RelayServices& services) {
  RelayContext& context = services.context;
  const uint64_t bytes = services.configuration.retention.max_disk_bytes();
  if (context.ladder == nullptr && context.rules->Now()->set().retention.AsksForStanding())
    return Status::Error(
        "rules of relay.retention ask for the standing of authors (from, below), but WEIR_LADDER=off measures none: "
        "set "
        "WEIR_LADDER=observe or on, or take these conditions out of the rules");
  if (bytes > 0) {
    budget_ = std::make_unique<DiskBudget>(bytes);
    TellOfBudget(*budget_, context.store.Sizes());
    context.disk_budget = budget_.get();
  }
  sweeper_ = std::make_unique<Sweeper>(PartsOf(services, budget_.get()));
  sweeper_->Start();
  open_ = true;
  return Status();
}

void RetentionPlugin::Stop() {
  if (open_) sweeper_->Stop();
}

void RetentionPlugin::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  const SweeperStats stats = sweeper_->Stats();
  families.Counter("weir_retention_removed_events_total", "Events that a rule of retention has removed");
  for (const auto& [rule, events] : stats.removed_by_rule) families.Add(events, {{"rule", rule}});
  families
      .Counter("weir_retention_failures_total", "Sweeps of retention that ended with an error; they are tried again")
      .Add(stats.failures);
  families.Gauge("weir_retention_hindered", "1 while events stay that rules or the disk budget say should go")
      .Add(uint64_t{stats.trouble.empty() ? 0U : 1U});
  if (budget_ == nullptr) return;
  families.Gauge("weir_disk_budget_bytes", "The disk budget of the stored events (WEIR_MAX_DISK_GB)")
      .Add(budget_->bytes());
  families.Gauge("weir_disk_budget_live_bytes", "Bytes on disk of the events that are stored, without removed ones")
      .Add(budget_->live_bytes());
  families
      .Gauge("weir_disk_budget_room",
             "The events that there is room for: 0 all, 1 no imports, 2 only those of known authors, 3 none")
      .Add(static_cast<uint64_t>(budget_->room()));
  families.Counter("weir_disk_budget_removed_events_total",
                   "Events that were removed for the disk budget, by the rung of their author");
  for (size_t rung = 0; rung < kRungs; ++rung)
    families.Add(stats.removed_for_budget[rung], {{"rung", kRungNames[rung]}});
}

std::string RetentionPlugin::LiveTitle(const SweeperStats& stats) const {
  std::string title = "Retention";
  if (budget_ != nullptr)
    title += ": " + ReadableBytes(budget_->used_bytes()) + " of " + ReadableBytes(budget_->bytes()) + " on disk";
  return stats.trouble.empty() ? title : title + ": " + stats.trouble;
}

void RetentionPlugin::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  const SweeperStats stats = sweeper_->Stats();
  if (budget_ == nullptr && stats.removed_by_rule.empty() && stats.trouble.empty()) return;
  LiveTable& table = tables.Add("retention", LiveTitle(stats), {{"removed for"}, {"events", true}, {"events/s", true}},
                                "nothing was removed since the start");
  const auto add = [&](const std::string& why, uint64_t events) {
    const double rate = tables.PerSecond("retention." + why, static_cast<double>(events));
    if (events > 0) table.AddRow({why, ShortNumber(events), ShortNumber(RoundedCount(rate))});
  };
  for (size_t rung = 0; rung < kRungs; ++rung)
    add("disk budget, " + std::string(kRungNames[rung]), stats.removed_for_budget[rung]);
  for (const auto& [rule, events] : stats.removed_by_rule) add(rule, events);
}

}  // namespace weir
