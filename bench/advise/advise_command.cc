#include "bench/advise/advise_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/advise/database_files.h"
#include "bench/advise/database_report.h"
#include "bench/advise/history_reader.h"
#include "bench/advise/log_reader.h"
#include "bench/advise/stall_plot.h"
#include "config/command_line.h"
#include "config/file_descriptor.h"
#include "config/replace_file.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr uint64_t kLongestOptions = 16 << 20;

Status WrongFile(const std::string& path, const std::string& why) { return Status::Error(AsText(path) + " " + why); }

// Returns an error if the file is no LOG. A LOG may have zero bytes after its first lines: a machine that lost its
// power leaves some.
Status ReadLog(const std::string& path, HistoryReader* history, uint64_t* bytes, std::vector<std::string>* notes) {
  const Descriptor opened(path == "-" ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (path != "-" && !opened.is_open()) return Status::Error(AsText(path) + ": " + std::strerror(errno));
  LogReader reader(path == "-" ? STDIN_FILENO : opened.number());
  const uint64_t before = history->lines();
  while (const auto line = reader.Next()) {
    if (history->lines() == before) {
      if (line->starts_with(kGzip)) return WrongFile(path, "is compressed: zcat it and pipe it into `weir advise -`");
      if (line->find('\0') != line->npos) return WrongFile(path, "is no LOG of RocksDB: it is a binary file");
    }
    history->Add(*line);
  }
  *bytes += reader.bytes();
  if (reader.error() != 0)
    notes->push_back(path + " was read only in part: " + std::strerror(reader.error()));
  else if (reader.bytes() == 0)
    notes->push_back(path + " is empty");
  else if (history->lines() == before)
    return WrongFile(path, "is no LOG of RocksDB: no line begins with a time such as 2026/12/01-08:25:07.123456");
  return Status();
}

Result<OptionsText> ReadOptionsFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kLongestOptions, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.is_open()) return Status::Error(AsText(path) + ": cannot be read");
  text.resize(static_cast<size_t>(in.gcount()));
  Result<OptionsText> options = ParseOptionsText(text);
  if (options.ok()) return options;
  return WrongFile(path, "is no OPTIONS file of RocksDB: " + options.status().message());
}

Result<DatabaseHistory> ReadDatabase(const DatabaseFiles& files) {
  HistoryReader reader;
  std::vector<std::string> notes;
  uint64_t bytes = 0;
  for (const std::string& log : files.logs)
    if (const Status read = ReadLog(log, &reader, &bytes, &notes); !read.ok()) return read;
  if (!files.options.empty()) {
    const Result<OptionsText> options = ReadOptionsFile(files.options);
    if (!options.ok() && files.logs.empty()) return options.status();
    if (options.ok())
      reader.AddOptionsFile(options.value());
    else
      notes.push_back(options.status().message());
  }
  DatabaseHistory history = std::move(reader).Finish();
  history.path = files.name;
  history.log_bytes = bytes;
  history.notes.insert(history.notes.end(), notes.begin(), notes.end());
  return history;
}

}  // namespace

int AdviseCommand(int argc, char** argv) { return AdviseCommand(argc, argv, std::cout, std::cerr); }

int AdviseCommand(int argc, char** argv, std::ostream& out, std::ostream& err) {
  std::vector<std::string> paths;
  bool json = false;
  std::string plot;
  CommandLine line(
      argv[0],
      "Reads the LOG and OPTIONS files of a RocksDB, of any program, and says what stalled, when and for how "
      "long, by which limit, what to set, and what the simulator says would have happened with weir.");
  line.Add("PATH", &paths, "directory of a database, LOG or OPTIONS file, or - for standard input").Required();
  line.Add("--json", &json, "print all of it as JSON");
  line.Add("--plot", &plot, "also write a picture (SVG) to this file");
  line.SetFooter("The status is 1 if a file cannot be read or is none of RocksDB's.");
  if (const std::optional<int> code = line.Parse(argc, argv, out, err)) return *code;

  const Result<std::vector<DatabaseFiles>> databases = FindDatabaseFiles(paths);
  if (!databases.ok()) {
    err << argv[0] << ": " << databases.status().message() << "\n";
    return 1;
  }
  int code = 0;
  const auto fail = [&](const std::string& why) {
    err << argv[0] << ": " << why << "\n";
    code = 1;
  };
  std::vector<DatabaseReport> reports;
  for (const DatabaseFiles& files : databases.value()) {
    Result<DatabaseHistory> history = ReadDatabase(files);
    if (!history.ok()) {
      fail(history.status().message());
      continue;
    }
    reports.push_back(ReportOn(std::move(history).value()));
    if (!json) out << (reports.size() > 1 ? "\n" : "") << ReportText(reports.back()) << std::flush;
  }
  if (json) out << ReportJson(reports);
  if (!plot.empty() && !ReplaceFile(plot, StallPlot(reports))) fail(AsText(plot) + ": " + std::strerror(errno));
  return code;
}

}  // namespace weir
