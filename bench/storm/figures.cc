#include "bench/storm/figures.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "config/text/parse.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr NumberColumn kNumbers[] = {
    {"seconds", &PhaseRow::seconds},
    {"writes", &PhaseRow::writes},
    {"write_p50_ms", &PhaseRow::write_p50_ms},
    {"write_p99_ms", &PhaseRow::write_p99_ms},
    {"write_p999_ms", &PhaseRow::write_p999_ms},
    {"write_max_ms", &PhaseRow::write_max_ms},
    {"write_longest_gap_ms", &PhaseRow::write_longest_gap_ms},
    {"refused", &PhaseRow::refused},
    {"read_p50_ms", &PhaseRow::read_p50_ms},
    {"read_p99_ms", &PhaseRow::read_p99_ms},
    {"read_p999_ms", &PhaseRow::read_p999_ms},
    {"scan_p50_ms", &PhaseRow::scan_p50_ms},
    {"scan_p99_ms", &PhaseRow::scan_p99_ms},
    {"long_scans_per_second", &PhaseRow::long_scans_per_second},
    {"bulk_mb_per_second", &PhaseRow::bulk_mb_per_second},
    {"adjusted_bulk_mb_per_second", &PhaseRow::adjusted_bulk_mb_per_second},
    {"settle_seconds", &PhaseRow::settle_seconds},
    {"jain_index", &PhaseRow::jain_index},
    {"braked_seconds", &PhaseRow::braked_seconds},
    {"escapes", &PhaseRow::escapes},
    {"highest_level", &PhaseRow::highest_level},
    {"mean_level", &PhaseRow::mean_level},
    {"highest_l0_files", &PhaseRow::highest_l0_files},
    {"debt_mb_at_end", &PhaseRow::debt_mb_at_end},
    {"cpu_seconds", &PhaseRow::cpu_seconds},
    {"cpu_us_per_value", &PhaseRow::cpu_us_per_value},
    {"peak_memory_mb", &PhaseRow::peak_memory_mb},
    {"load_average", &PhaseRow::load_average},
    {"bulk_refused", &PhaseRow::bulk_refused},
    {"limit_spread_percent", &PhaseRow::limit_spread_percent},
    {"limit_within_percent", &PhaseRow::limit_within_percent},
    {"limit_settled_seconds", &PhaseRow::limit_settled_seconds},
    {"control_cpu_ms_per_second", &PhaseRow::control_cpu_ms_per_second},
    {"noise_p999_ms", &PhaseRow::noise_p999_ms},
};

constexpr const char* kHeaderOfTexts = "shape,scale,scenario,policy,repetition,label,phase,outcome";
constexpr size_t kTexts = 8;

std::string Header() {
  std::string header = kHeaderOfTexts;
  for (const NumberColumn& c : kNumbers) header += std::string(",") + c.name;
  return header;
}

// Three decimals are enough for all of them.
std::string Number(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", x);
  return text;
}

// Names have no commas; the message of an error may.
std::string Cell(std::string text) {
  for (char& c : text)
    if (c == ',' || c == '\n' || c == '"') c = ';';
  return text;
}

Status Written(const fs::path& file, std::ofstream& out) {
  out.flush();
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

Result<std::ofstream> Create(const fs::path& file, std::ios::openmode mode = std::ios::trunc) {
  std::error_code ignored;  // opening the file reports the error better
  fs::create_directories(file.parent_path(), ignored);
  std::ofstream out(file, std::ios::out | mode);
  if (!out) return Status::Error("cannot write " + file.string());
  return out;
}

}  // namespace

const std::vector<NumberColumn>& NumberColumns() {
  static const std::vector<NumberColumn> kColumns(std::begin(kNumbers), std::end(kNumbers));
  return kColumns;
}

PhaseRow Together(const PhaseRow& a, const PhaseRow& b) {
  PhaseRow both = a;
  for (const NumberColumn& c : kNumbers) both.*c.number = std::fmax(a.*c.number, b.*c.number);
  for (double PhaseRow::*sum :
       {&PhaseRow::writes, &PhaseRow::refused, &PhaseRow::bulk_refused, &PhaseRow::long_scans_per_second,
        &PhaseRow::bulk_mb_per_second, &PhaseRow::adjusted_bulk_mb_per_second, &PhaseRow::braked_seconds,
        &PhaseRow::escapes, &PhaseRow::debt_mb_at_end, &PhaseRow::control_cpu_ms_per_second})
    both.*sum = a.*sum + b.*sum;
  both.limit_within_percent = std::fmin(a.limit_within_percent, b.limit_within_percent);
  both.cpu_us_per_value = 1 / (1 / a.cpu_us_per_value + 1 / b.cpu_us_per_value);  // the CPU time is that of the process
  return both;
}

std::string RunName(const RunKey& run) {
  return (run.shape == RunKey{}.shape ? "" : run.shape + "-") + run.scenario + "-" + run.policy +
         (run.label.empty() ? "" : "-" + run.label) + "-x" + FormatNumber(run.scale) + "-" +
         std::to_string(run.repetition);
}

Status AppendRows(const fs::path& file, const std::vector<PhaseRow>& rows) {
  const bool is_new = !fs::exists(file);
  Result<std::ofstream> opened = Create(file, std::ios::app);
  if (!opened.ok()) return opened.status();
  std::ofstream& out = opened.value();
  if (is_new) out << Header() << "\n";
  for (const PhaseRow& row : rows) {
    out << row.run.shape << ',' << FormatNumber(row.run.scale) << ',' << row.run.scenario << ',' << row.run.policy
        << ',' << row.run.repetition << ',' << Cell(row.run.label) << ',' << row.phase << ',' << Cell(row.outcome);
    for (const NumberColumn& c : kNumbers) out << ',' << Number(row.*c.number);
    out << "\n";
  }
  return Written(file, out);
}

Result<std::vector<PhaseRow>> ReadRows(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!in || !std::getline(in, line)) return Status::Error("cannot read " + file.string());
  if (line != Header())
    return Status::Error(file.string() + ": line 1: not the columns that this program writes; move the file away");
  std::vector<PhaseRow> rows;
  for (int number = 2; std::getline(in, line); ++number) {
    std::vector<std::string> cells;
    std::istringstream split(line);
    for (std::string cell; std::getline(split, cell, ',');) cells.push_back(cell);
    if (cells.size() != kTexts + std::size(kNumbers))
      return Status::Error(file.string() + ": line " + std::to_string(number) + ": not as many cells as the header");
    PhaseRow row;
    row.run = {.shape = cells[0],
               .scale = std::strtod(cells[1].c_str(), nullptr),
               .scenario = cells[2],
               .policy = cells[3],
               .repetition = std::atoi(cells[4].c_str()),
               .label = cells[5]};
    row.phase = cells[6];
    row.outcome = cells[7];
    for (size_t i = 0; i < std::size(kNumbers); ++i)
      row.*kNumbers[i].number = std::strtod(cells[kTexts + i].c_str(), nullptr);
    rows.push_back(std::move(row));
  }
  return rows;
}

Status WriteTimeline(const fs::path& file, const std::vector<TimelineRow>& rows) {
  Result<std::ofstream> opened = Create(file);
  if (!opened.ok()) return opened.status();
  std::ofstream& out = opened.value();
  out << "second,phase,level,signal,l0_level,memtables_level,debt_level,memory_level,limit_mb_per_second,reason,"
         "drain_mb_per_second,bulk_mb_per_second,write_max_ms,read_max_ms,l0_files,debt_mb,braking\n";
  for (const TimelineRow& r : rows) {
    out << Number(r.second) << ',' << r.phase << ',' << Number(r.level) << ',' << r.signal << ',' << Number(r.l0_level)
        << ',' << Number(r.memtables_level) << ',' << Number(r.debt_level) << ',' << Number(r.memory_level) << ','
        << Number(r.limit_mb_per_second) << ',' << r.reason << ',' << Number(r.drain_mb_per_second) << ','
        << Number(r.bulk_mb_per_second) << ',' << Number(r.write_max_ms) << ',' << Number(r.read_max_ms) << ','
        << Number(r.l0_files) << ',' << Number(r.debt_mb) << ',' << Number(r.braking) << "\n";
  }
  return Written(file, out);
}

Status WriteCcdf(const fs::path& file, const std::vector<CcdfPoint>& points) {
  Result<std::ofstream> opened = Create(file);
  if (!opened.ok()) return opened.status();
  std::ofstream& out = opened.value();
  out << "latency_ms,share_longer\n";
  for (const CcdfPoint& p : points) out << Number(p.latency_ms) << ',' << p.share_longer << "\n";
  return Written(file, out);
}

}  // namespace weir
