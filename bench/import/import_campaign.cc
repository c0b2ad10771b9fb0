#include "bench/import/import_campaign.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "bench/measure/machine.h"
#include "bench/relay/launch.h"
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
  // What the run before has left to be written is not for this one to wait for.
  sync();
  const auto import = ChildCommand::Start(command, dir / "import.log");
  if (!import.ok()) return import.status();
  if (Status s = import.value()->Wait(); !s.ok()) return s;
  const auto cost = import.value()->Cost();
  if (!cost.ok()) return cost.status();
  const auto disk = DiskBytes(db);
  if (!disk.ok()) return disk.status();
  return FiguresOf(cost.value(), campaign.events, disk.value());
}

Status RunAll(const ImportCampaign& campaign, std::vector<ResultRow>* rows) {
  const std::string date = DateOfRun();
  for (int repetition = 1; repetition <= campaign.repetitions; ++repetition) {
    for (const size_t i : OrderOf(campaign.contenders.size(), repetition)) {
      const Contender& contender = campaign.contenders[i];
      const auto figures = RunOne(campaign, contender);
      if (!figures.ok()) return Status::Error(contender.name + ": " + figures.status().message());
      std::fprintf(stderr, "[%d/%d] %s: %.0f events/s\n", repetition, campaign.repetitions, contender.name.c_str(),
                   figures.value().front().value);
      for (const LoadFigure& figure : figures.value()) {
        rows->push_back(
            {.date = date, .relay = contender.name, .repetition = repetition, .scenario = "import", .figure = figure});
      }
    }
  }
  return Status();
}

Status WriteFile(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.flush();
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

Status WriteResults(const ImportCampaign& campaign, const std::vector<ResultRow>& rows, const std::string& tables) {
  std::error_code ignored;  // opening says it better
  fs::create_directories(campaign.results, ignored);
  if (Status s = AppendResults(campaign.results / "results.csv", rows); !s.ok()) return s;
  const std::string machine = DescribeMachine() + "command: " + campaign.command_line + "\n";
  if (Status s = WriteFile(campaign.results / "machine.txt", machine); !s.ok()) return s;
  return WriteFile(campaign.results / "results.md", "# Imports of " + std::to_string(campaign.events) + " events, " +
                                                        std::to_string(campaign.repetitions) + " ×\n\n```\n" + machine +
                                                        "```\n\n" + tables);
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

std::vector<size_t> OrderOf(size_t contenders, int repetition) {
  std::vector<size_t> order;
  for (size_t i = 0; i < contenders; ++i) order.push_back((i + static_cast<size_t>(repetition) - 1) % contenders);
  return order;
}

Status RunImportCampaign(const ImportCampaign& campaign) {
  std::vector<ResultRow> rows;
  Status status = RunAll(campaign, &rows);
  if (rows.empty()) return status;
  const std::string tables = ResultTables(rows);
  std::fputs(tables.c_str(), stdout);
  if (campaign.results.empty()) return status;
  const Status written = WriteResults(campaign, rows, tables);
  return status.ok() ? written : status;
}

}  // namespace weir
