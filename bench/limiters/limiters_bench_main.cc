// limiters_bench: measures the cost of a decision of a quota, of a key and of an endpoint, in process and over HTTP.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/limiters/in_process.h"
#include "bench/limiters/over_http.h"
#include "bench/measure/results.h"
#include "config/command_line.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kParts = {"in_process", "http"};

int Main(int argc, char** argv) {
  CommandLine line("limiters_bench",
                   "Measures what a decision of each limiter costs, in process and over HTTP by h2load and wrk.\n"
                   "Exit status: 0 measured, 2 it could not be, or the arguments are wrong.");
  std::vector<std::string> parts = kParts;
  double seconds = 1;
  int repetitions = 5;
  fs::path scratch = fs::temp_directory_path();
  fs::path results_directory;
  std::string server = "exec env WEIR_CONFIG={config} WEIR_LOG_LEVEL=warn " +
                       (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "weir").string() +
                       " gate --port {port}";
  line.Add("PART", &parts, "in_process, http (default: both)").OneOf(kParts);
  line.Add("--seconds", &seconds, "for each measurement").Within(0.01, 60.0).ShowDefault();
  line.Add("--repetitions", &repetitions, "of each").Within(1, 1000).ShowDefault();
  line.Add("--server", &server, "the gate's command, with {port} and {config} (default: the weir beside this program)");
  line.Add("--scratch", &scratch, "where the gate's files are made, and removed at the end")
      .ShowDefault()
      .ExistingDirectory();
  line.Add("--results", &results_directory, "directory for results.csv, results.md and machine.txt");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;

  const auto wanted = [&](const std::string& part) { return std::ranges::find(parts, part) != parts.end(); };
  Results results(results_directory, CommandAsTyped(argc, argv));
  std::string tables = "Medians, with the lowest and the highest.\n";
  Status status;
  if (wanted("in_process")) {
    FigureTables figures(results);
    MeasureLimitersInProcess({.repetitions = repetitions, .time = FromSeconds(seconds)}, &figures);
    tables += "\n## In process\n\n" + figures.Tables(/*ratio=*/false);
    status = figures.status();
  }
  if (status.ok() && wanted("http")) {
    FigureTables figures(results);
    status = MeasureLimitersOverHttp(
        {.repetitions = repetitions, .seconds = seconds, .scratch = scratch, .server = server}, &figures);
    tables += "\n## Over HTTP\n\n" + figures.Tables(/*ratio=*/false);
    if (status.ok()) status = figures.status();
  }
  const Status written = results.Finish("Limiters", tables);
  if (status.ok()) status = written;
  return status.ok() ? 0 : line.Fail(status);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
