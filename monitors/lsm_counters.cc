#include "monitors/lsm_counters.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace weir {
namespace {

using Stats = std::map<std::string, std::string>;

constexpr double kGiB = 1 << 30;
constexpr size_t kMostLevels = 64;
constexpr double kBuffersToRemember = 16;

double Number(const Stats& stats, const std::string& key) {
  const auto found = stats.find(key);
  return found == stats.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

void ParseStalls(const Stats& stats, RocksDbCounters* counters) {
  for (const auto& [name, key_since_8_1] : kStallCounters) {
    auto found = stats.find(std::string(key_since_8_1));
    if (found == stats.end()) found = stats.find("io_stalls." + std::string(name));
    if (found == stats.end()) continue;
    const uint64_t count = std::strtoull(found->second.c_str(), nullptr, 10);
    if (name == "total_slowdown") {
      counters->slowdowns = count;
    } else if (name == "total_stop") {
      counters->stops = count;
    } else {
      counters->stall_causes.emplace(name, count);
    }
  }
}

// The statistics leave out levels without files.
void ParseLevels(const Stats& stats, RocksDbCounters* counters) {
  for (size_t level = 0; level < kMostLevels; ++level) {
    const std::string key = "compaction.L" + std::to_string(level) + ".";
    if (!stats.contains(key + "Score")) continue;
    counters->levels.resize(level + 1);
    RocksDbLevel& facts = counters->levels.back();
    facts = {Number(stats, key + "NumFiles"), Number(stats, key + "SizeBytes"), Number(stats, key + "Score")};
    if (level > 0) counters->highest_score = std::max(counters->highest_score, facts.score);
  }
  if (counters->levels.empty()) return;
  counters->l0_files = counters->levels[0].files;
  counters->l0_bytes = counters->levels[0].bytes;
}

}  // namespace

RocksDbCounters ParseCounters(const Stats& stats, int base_level) {
  RocksDbCounters counters;
  counters.base_level = base_level;
  const std::string base = "compaction.L" + std::to_string(base_level) + ".";
  counters.drained_from_l0_bytes = (Number(stats, base + "RnGB") + Number(stats, base + "MovedGB")) * kGiB;
  counters.base_level_bytes = Number(stats, base + "SizeBytes");
  // Wnew does not count bytes that L0's own compactions rewrote.
  counters.flushed_table_bytes = Number(stats, "compaction.L0.WnewGB") * kGiB;
  counters.flushed_bytes = counters.flushed_table_bytes + Number(stats, "compaction.L0.WblobGB") * kGiB;
  const auto below_l0 = [&](const std::string& written) {
    return (Number(stats, "compaction.Sum." + written) - Number(stats, "compaction.L0." + written)) * kGiB;
  };
  counters.compaction_written_bytes = below_l0("WriteGB") + below_l0("WblobGB");
  const double l0_seconds = Number(stats, "compaction.L0.CompSec");
  if (l0_seconds > 0) counters.flush_bytes_per_second = Number(stats, "compaction.L0.WriteGB") * kGiB / l0_seconds;
  ParseLevels(stats, &counters);
  ParseStalls(stats, &counters);
  return counters;
}

DiskRatio::DiskRatio(double write_buffer_bytes)
    : memory_bytes_(kBuffersToRemember * write_buffer_bytes),
      user_bytes_(write_buffer_bytes),
      flushed_bytes_(write_buffer_bytes) {}

void DiskRatio::Update(double user_bytes, double flushed_bytes) {
  const double keep = std::exp(-std::max(user_bytes, 0.0) / memory_bytes_);
  user_bytes_ = std::max(1.0, user_bytes_ * keep + user_bytes);
  flushed_bytes_ = flushed_bytes_ * keep + flushed_bytes;
}

double DiskRatio::value() const { return std::clamp(flushed_bytes_ / user_bytes_, 1e-4, 2.0); }

}  // namespace weir
