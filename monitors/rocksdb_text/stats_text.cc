#include "monitors/rocksdb_text/stats_text.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace weir {
namespace {

using Stats = std::map<std::string, std::string>;

constexpr double kBytesOfGb = 1 << 30;
constexpr double kBytesOfMb = 1 << 20;

// Returns the next line, without its end, and removes it from `text`.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  return line;
}

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = line.find_first_not_of(" \r", at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(" \r", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Returns the number after the first `name` in the text; 0 if there is none.
double NumberAfter(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  return at == text.npos ? 0 : std::strtod(std::string(text.substr(at + name.size(), 32)).c_str(), nullptr);
}

// Returns the bytes of a line such as "…ingest: 0.03 GB, 12.35 MB/s", whose sum is rounded to 10 MiB: by the rate and
// the uptime, which has a tenth of a second, if these are more exact.
double BytesOfLine(std::string_view line, std::string_view name, double uptime_seconds) {
  const size_t at = line.find(name);
  if (at == line.npos) return 0;
  const std::string_view figures = line.substr(at);
  const double by_sum = NumberAfter(figures, name) * kBytesOfGb;
  const double rate = NumberAfter(figures, ", ") * kBytesOfMb;
  const double error_by_rate = 0.005 * kBytesOfMb * uptime_seconds + 0.05 * rate;
  return uptime_seconds > 0 && error_by_rate < 0.005 * kBytesOfGb ? rate * uptime_seconds : by_sum;
}

double UnitOf(const std::string& unit) {
  static constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  double bytes = 1;
  for (const std::string_view name : kUnits) {
    if (unit == name) return bytes;
    bytes *= 1024;
  }
  return 0;
}

// Returns the name in the property's map of what the header of the table calls `column`.
std::string KeyOf(const std::string& column) {
  static const std::map<std::string, std::string>& kKeys = *new std::map<std::string, std::string>{
      {"Score", "Score"},       {"Rn(GB)", "RnGB"},       {"Write(GB)", "WriteGB"}, {"Wnew(GB)", "WnewGB"},
      {"Moved(GB)", "MovedGB"}, {"Comp(sec)", "CompSec"}, {"Wblob(GB)", "WblobGB"}};
  const auto found = kKeys.find(column);
  return found == kKeys.end() ? "" : found->second;
}

// Adds a row of the table: "L0  2/0  2.05 KB  0.5 …". Its third column has two words.
void AddRow(const std::vector<std::string>& columns, const std::vector<std::string>& row, Stats* stats) {
  if (row.size() < 4 || row.size() > columns.size() + 1) return;
  const std::string prefix = "compaction." + row[0] + ".";
  (*stats)[prefix + "NumFiles"] = row[1];  // "2/0": the second number is that of files in compactions
  (*stats)[prefix + "SizeBytes"] = std::to_string(std::strtod(row[2].c_str(), nullptr) * UnitOf(row[3]));
  for (size_t i = 4; i < row.size(); ++i)
    if (const std::string key = KeyOf(columns[i - 1]); !key.empty()) (*stats)[prefix + key] = row[i];
}

// Adds the counts of stalls. Since 8.1 they are "Write Stall (count): <name>: <count>, …", with the names of the map;
// before "Stalls(count): <count> <name>, …", with other names and without sums.
void AddStalls(std::string_view line, Stats* stats) {
  constexpr std::string_view kNew = "Write Stall (count): ", kOld = "Stalls(count): ";
  const bool is_new = line.starts_with(kNew);
  if (!is_new && !line.starts_with(kOld)) return;
  line.remove_prefix(is_new ? kNew.size() : kOld.size());
  uint64_t delays = 0, stops = 0;
  while (!line.empty()) {
    const size_t end = std::min(line.find(", "), line.size());
    std::string name(line.substr(0, end));
    line.remove_prefix(std::min(end + 2, line.size()));
    const size_t space = name.find(is_new ? ": " : " ");
    if (space == name.npos) continue;
    if (is_new) {
      (*stats)[name.substr(0, space)] = name.substr(space + 2);
      continue;
    }
    const std::string count = name.substr(0, space);
    name = name.substr(space + 1);
    for (char& c : name)
      if (c == ' ') c = '_';
    (*stats)["io_stalls." + name] = count;
    const uint64_t n = std::strtoull(count.c_str(), nullptr, 10);
    if (name == "level0_slowdown" || name == "slowdown_for_pending_compaction_bytes" || name == "memtable_slowdown")
      delays += n;
    if (name == "level0_numfiles" || name == "stop_for_pending_compaction_bytes" || name == "memtable_compaction")
      stops += n;
  }
  if (is_new) return;
  (*stats)["io_stalls.total_slowdown"] = std::to_string(delays);
  (*stats)["io_stalls.total_stop"] = std::to_string(stops);
}

}  // namespace

RocksDbCounters ParseCountersText(std::string_view cfstats, int base_level) {
  Stats stats;
  double flushed = 0, ingested = 0, written = 0, uptime_seconds = 0, ingested_files = 0, ingested_to_l0 = 1;
  std::vector<std::string> columns;  // is empty outside the tables
  bool by_level = true;
  for (std::string_view rest = cfstats; !rest.empty();) {
    const std::string_view line = TakeLine(&rest);
    const std::vector<std::string> words = Words(line);
    // The table ends with an empty line, or, in old versions, with this one.
    if (words.empty() || words[0] == "Uptime(secs):") {
      columns.clear();
      if (!words.empty()) uptime_seconds = NumberAfter(line, "Uptime(secs): ");
    } else if (words[0] == "Level" || words[0] == "Priority") {
      by_level = words[0] == "Level";
      columns = words;
    } else if (!columns.empty()) {
      if (by_level) AddRow(columns, words, &stats);
    } else if (line.starts_with("Flush(GB)")) {
      flushed = NumberAfter(line, "cumulative ") * kBytesOfGb;
    } else if (line.starts_with("AddFile(GB)")) {
      ingested = NumberAfter(line, "cumulative ") * kBytesOfGb;
    } else if (line.starts_with("AddFile(Total Files)")) {
      ingested_files = NumberAfter(line, "cumulative ");
    } else if (line.starts_with("AddFile(L0 Files)")) {
      ingested_to_l0 = ingested_files > 0 ? std::min(1.0, NumberAfter(line, "cumulative ") / ingested_files) : 0;
    } else if (line.starts_with("Cumulative compaction: ")) {
      written = BytesOfLine(line, "Cumulative compaction: ", uptime_seconds);
    } else {
      AddStalls(line, &stats);
    }
  }
  RocksDbCounters counters = ParseCounters(stats, base_level);
  // These have more digits than the columns of the table.
  counters.flushed_bytes = flushed;
  counters.flushed_table_bytes = std::max(0.0, flushed - kBytesOfGb * NumberAfter(stats["compaction.L0.WblobGB"], ""));
  // The flushed bytes have those of blob files, which are not in L0; most ingested files may be in lower levels.
  counters.drained_from_l0_bytes = counters.flushed_table_bytes + ingested * ingested_to_l0 - counters.l0_bytes;
  counters.compaction_written_bytes = std::max(0.0, written - flushed);
  const double l0_seconds = NumberAfter(stats["compaction.L0.CompSec"], "");
  counters.flush_bytes_per_second = l0_seconds > 0 ? flushed / l0_seconds : 0;
  return counters;
}

DbStatsText ParseDbStatsText(std::string_view dbstats) {
  DbStatsText result;
  for (std::string_view rest = dbstats; !rest.empty();) {
    const std::string_view line = TakeLine(&rest);
    if (line.starts_with("Uptime(secs): ")) result.uptime_seconds = NumberAfter(line, "Uptime(secs): ");
    if (line.starts_with("Cumulative writes: "))
      result.user_bytes = BytesOfLine(line, "ingest: ", result.uptime_seconds);
    constexpr std::string_view kStall = "Cumulative stall: ";  // "01:02:3.456 H:M:S, 0.1 percent"
    if (!line.starts_with(kStall)) continue;
    std::string_view time = line.substr(kStall.size());
    double seconds = 0;
    for (int part = 0; part < 3; ++part) {
      seconds = 60 * seconds + NumberAfter(time, "");
      time.remove_prefix(std::min(time.find(':'), time.size() - 1) + 1);
      if (time.empty()) break;
    }
    result.stalled_seconds = seconds;
  }
  return result;
}

}  // namespace weir
