// quota_bench: what a decision costs: in process, by store, and through Redis against redis-benchmark.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/machine.h"
#include "bench/quota/in_process.h"
#include "bench/quota/redis_load.h"
#include "bench/quota/stores.h"
#include "bench/relay/campaign.h"

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

void AddTo(CLI::App* app, Arguments* a) {
  app->add_option("PART", a->parts, "in_process, stores, redis (default: all)")->check(CLI::IsMember(kParts));
  app->add_option("--seconds", a->seconds, "for each measurement (default: 0.2 in process, else 0.7)")
      ->check(CLI::Range(0.01, 60.0));
  app->add_option("--repetitions", a->repetitions, "of each (default: 5 of redis, 3 of the others)")
      ->check(CLI::Range(1, 1000));
  app->add_option("--scratch", a->scratch, "where the stores' files are made, and removed at the end")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app->add_option("--results", a->results, "directory for results.csv, results.md and machine.txt");
}

Status WriteFile(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.flush();
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

struct Part {
  std::string title;
  QuotaFigures figures;
  bool ratio = false;
};

Status Measure(const Arguments& a, std::vector<Part>* parts) {
  const auto wanted = [&a](const std::string& part) {
    return std::find(a.parts.begin(), a.parts.end(), part) != a.parts.end();
  };
  const Duration time = FromSeconds(a.seconds.value_or(0.7));
  if (wanted("in_process")) {
    Part& part = parts->emplace_back(Part{.title = "In process"});
    const InProcessOptions options{.repetitions = a.repetitions.value_or(3),
                                   .time = FromSeconds(a.seconds.value_or(0.2))};
    if (Status s = MeasureInProcess(options, &part.figures); !s.ok()) return s;
  }
  if (wanted("stores")) {
    Part& part = parts->emplace_back(Part{.title = "Stores"});
    const StoreOptions options{.repetitions = a.repetitions.value_or(3), .time = time, .scratch = a.scratch};
    if (Status s = MeasureStores(options, &part.figures); !s.ok()) return s;
  }
  if (!wanted("redis")) return {};
  Part& part = parts->emplace_back(Part{.title = "Redis, the same script", .ratio = true});
  const RedisLoadOptions options{.repetitions = a.repetitions.value_or(5), .time = time, .scratch = a.scratch};
  return MeasureRedisLoad(options, &part.figures);
}

Status Write(const Arguments& a, const std::string& machine, const std::vector<Part>& parts, const std::string& text) {
  if (a.results.empty()) return {};
  std::error_code ignored;  // opening says it better
  fs::create_directories(a.results, ignored);
  for (const Part& part : parts)
    if (Status s = AppendResults(a.results / "results.csv", part.figures.rows()); !s.ok()) return s;
  if (Status s = WriteFile(a.results / "machine.txt", machine); !s.ok()) return s;
  return WriteFile(a.results / "results.md", "# Quotas\n\n```\n" + machine + "```\n\n" + text);
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Measures what a quota's decision costs: in process, by store, and through Redis against redis-benchmark that\n"
      "runs the same script. Exit status: 0 measured, 2 it could not be, or the arguments are wrong.",
      "quota_bench");
  Arguments arguments;
  AddTo(&app, &arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  std::vector<Part> parts;
  Status status = Measure(arguments, &parts);
  std::string text = "Medians, with the lowest and the highest.\n";
  for (const Part& part : parts) text += "\n## " + part.title + "\n\n" + part.figures.Tables(part.ratio);
  std::fputs(text.c_str(), stdout);
  const std::string machine = DescribeMachine() + "command: " + CommandLine(argc, argv) + "\n";
  const Status written = Write(arguments, machine, parts, text);
  if (status.ok()) status = written;
  if (status.ok()) return 0;
  std::fprintf(stderr, "quota_bench: %s\n", status.message().c_str());
  return 2;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
