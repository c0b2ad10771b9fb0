// quota_bench: measures the cost of a decision: in process, by store, and through Redis against redis-benchmark.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/results.h"
#include "bench/quota/in_process.h"
#include "bench/quota/redis_load.h"
#include "bench/quota/stores.h"
#include "config/command_line.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kParts = {"in_process", "stores", "redis"};

struct Arguments {
  std::vector<std::string> parts = kParts;
  std::optional<double> seconds;
  std::optional<int> repetitions;
  fs::path scratch = fs::temp_directory_path();
  fs::path results;
};

void AddTo(CommandLine& line, Arguments* a) {
  line.Add("PART", &a->parts, "in_process, stores, redis (default: all)").OneOf(kParts);
  line.Add("--seconds", &a->seconds, "for each measurement (default: 0.2 in process, else 0.7)").Within(0.01, 60.0);
  line.Add("--repetitions", &a->repetitions, "of each (default: 5 of redis, 3 of the others)").Within(1, 1000);
  line.Add("--scratch", &a->scratch, "where the stores' files are made, and removed at the end")
      .ShowDefault()
      .ExistingDirectory();
  line.Add("--results", &a->results, "directory for results.csv, results.md and machine.txt");
}

// Measures the wanted parts one by one; the figures from before an error are printed.
class Parts {
 public:
  Parts(const Arguments& arguments, Results& results) : arguments_(arguments), results_(results) {}

  Status RunAll() {
    const Duration time = FromSeconds(arguments_.seconds.value_or(0.7));
    const auto few = arguments_.repetitions.value_or(3);
    const InProcessOptions in_process{.repetitions = few, .time = FromSeconds(arguments_.seconds.value_or(0.2))};
    const StoreOptions stores{.repetitions = few, .time = time, .scratch = arguments_.scratch};
    const RedisLoadOptions redis{
        .repetitions = arguments_.repetitions.value_or(5), .time = time, .scratch = arguments_.scratch};
    Status s = Run("in_process", "In process", false, [&](auto* to) { return MeasureInProcess(in_process, to); });
    if (s.ok()) s = Run("stores", "Stores", false, [&](auto* to) { return MeasureStores(stores, to); });
    if (s.ok()) s = Run("redis", "Redis, the same script", true, [&](auto* to) { return MeasureRedisLoad(redis, to); });
    return s;
  }

  const std::string& tables() const { return tables_; }

 private:
  Status Run(const std::string& part, const std::string& title, bool ratio,
             const std::function<Status(FigureTables*)>& measure) {
    if (std::find(arguments_.parts.begin(), arguments_.parts.end(), part) == arguments_.parts.end()) return {};
    FigureTables figures(results_);
    const Status status = measure(&figures);
    tables_ += "\n## " + title + "\n\n" + figures.Tables(ratio);
    return status.ok() ? figures.status() : status;
  }

  const Arguments& arguments_;
  Results& results_;
  std::string tables_ = "Medians, with the lowest and the highest.\n";
};

int Main(int argc, char** argv) {
  CommandLine line(
      "quota_bench",
      "Measures what a quota's decision costs: in process, by store, and through Redis against redis-benchmark that\n"
      "runs the same script. Exit status: 0 measured, 2 it could not be, or the arguments are wrong.");
  Arguments arguments;
  AddTo(line, &arguments);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  Results results(arguments.results, CommandAsTyped(argc, argv));
  Parts parts(arguments, results);
  Status status = parts.RunAll();
  const Status written = results.Finish("Quotas", parts.tables());
  if (status.ok()) status = written;
  return status.ok() ? 0 : line.Fail(status);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
