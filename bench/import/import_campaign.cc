#include "bench/import/import_campaign.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "bench/relay/launch.h"
#include "bench/relay/report.h"
#include "bench/relay/server_usage.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

Result<LoadFigures> RunOne(const ImportCampaign& campaign, const Contender& contender) {
  const auto scratch = TemporaryDirectory::Make(campaign.scratch);
  if (!scratch.ok()) return scratch.status();
  const fs::path dir = scratch.value()->path();
  const fs::path db = dir / "db";
  std::error_code error;
  if (fs::create_directory(db, error); error) return Status::Error("cannot make " + db.string());
  const std::string command =
      FillIn(contender.command, {{"{file}", campaign.file.string()}, {"{dir}", dir.string()}, {"{db}", db.string()}});
  // This run must not wait for writes that the run before has left.
  sync();
  const auto import = Process::Start(command, dir / "import.log");
  if (!import.ok()) return import.status();
  if (Status s = import.value()->Wait(); !s.ok()) return s;
  const auto cost = import.value()->Cost();
  if (!cost.ok()) return cost.status();
  const auto disk = DiskBytes(db);
  if (!disk.ok()) return disk.status();
  return FiguresOf(cost.value(), campaign.events, disk.value());
}

}  // namespace

LoadFigures FiguresOf(const CommandCost& cost, size_t events, uint64_t disk_bytes) {
  const auto count = static_cast<double>(events);
  const auto microseconds = [count](Duration d) { return ToSeconds(d) * 1e6 / count; };
  return {
      {"rate", "events/s", count / ToSeconds(cost.wall)},
      {"seconds", "s", ToSeconds(cost.wall)},
      {"CPU per event", "µs", microseconds(cost.user + cost.system)},
      {"of it user", "µs", microseconds(cost.user)},
      {"of it system", "µs", microseconds(cost.system)},
      {"peak memory", "MB", cost.peak_mb},
      {"disk", "MB", static_cast<double>(disk_bytes) / 1e6},
      {"disk per event", "B", static_cast<double>(disk_bytes) / count},
  };
}

Status RunImportCampaign(const ImportCampaign& campaign) {
  Results results(campaign.results, campaign.command_line);
  const auto run = [&](const Contender& contender, int repetition) {
    const auto figures = RunOne(campaign, contender);
    if (!figures.ok()) return figures.status();
    std::fprintf(stderr, "[%d/%d] %s: %.0f events/s\n", repetition, campaign.repetitions, contender.name.c_str(),
                 figures.value().front().value);
    return results.Add(contender.name, repetition, "import", figures.value());
  };
  const Status status = RunInTurn(campaign.contenders, campaign.repetitions, run);
  const Status written = results.Finish(
      "Imports of " + std::to_string(campaign.events) + " events, " + std::to_string(campaign.repetitions) + " ×",
      ResultTables(results.rows()));
  return status.ok() ? written : status;
}

}  // namespace weir
