#include "monitors/myrocks/myrocks_figures.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "config/text/parse.h"
#include "monitors/rocksdb_text/options_text.h"

namespace weir {
namespace {

using Stats = std::map<std::string, std::string>;

// No figure of a server is larger.
constexpr double kMost = 1e18;

double Number(const Stats& stats, const std::string& name) {
  const auto found = stats.find(name);
  return found == stats.end() ? 0 : std::min(kMost, std::max(0.0, std::strtod(found->second.c_str(), nullptr)));
}
uint64_t Count(const Stats& stats, const std::string& name) { return static_cast<uint64_t>(Number(stats, name)); }

// Returns the number that a text of options ("name=64m;…") has for the name, with its unit; "" if it has none.
std::string NumberIn(const std::string& options, const std::string& name) {
  const size_t at = options.find(name + "=");
  if (at == options.npos) return "";
  char* end = nullptr;
  const uint64_t number = std::strtoull(options.c_str() + at + name.size() + 1, &end, 10);
  const size_t unit = std::string_view("kmgt").find(static_cast<char>(std::tolower(static_cast<unsigned char>(*end))));
  return std::to_string(unit == std::string_view::npos ? number : number << (10 * (unit + 1)));
}

// With level sizes that follow from the data, L0 is compacted into the first level that has any.
int BaseLevel(const Stats& stats, const MyRocksFamily& family) {
  if (!family.options.level_compaction_dynamic_level_bytes) return 1;
  for (int level = 1; level < family.num_levels; ++level)
    if (Number(stats, "compaction.L" + std::to_string(level) + ".SizeBytes") > 0) return level;
  return std::max(1, family.num_levels - 1);
}

MyRocksFamily ReadFamily(const Stats& stats, const std::string& default_options) {
  MyRocksFamily family;
  for (const auto& [name, value] : stats) SetLsmOption(name, value, &family.options);
  for (const char* limit : {"soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit"})
    SetLsmOption(limit, NumberIn(default_options, limit), &family.options);
  if (const double m = Number(stats, "max_bytes_for_level_multiplier"); m > 0) family.level_multiplier = m;
  if (const uint64_t levels = Count(stats, "num_levels"); levels > 0 && levels <= 64)
    family.num_levels = static_cast<int>(levels);
  family.counters = ParseCounters(stats, BaseLevel(stats, family));
  family.immutable_memtables = std::min<uint64_t>(Count(stats, "NUM_IMMUTABLE_MEM_TABLE"), 1 << 20);
  family.filling_bytes = std::min(Count(stats, "CUR_SIZE_ACTIVE_MEM_TABLE"), family.options.write_buffer_size);
  const auto merged = static_cast<uint64_t>(std::max(1, family.options.min_write_buffer_number_to_merge));
  family.flushing = Number(stats, "MEM_TABLE_FLUSH_PENDING") > 0 || family.immutable_memtables >= merged;
  family.compacting = Number(stats, "COMPACTION_PENDING") > 0 || Number(stats, "compaction.Sum.CompactedFiles") > 0;
  return family;
}

}  // namespace

// The counters come before the memtables: a flush between the two then shows in neither for one sample, and not in
// both, which would look like a full L0.
std::string_view MyRocksQuestion() {
  return "SELECT CF_NAME, CONCAT('compaction.', LEVEL, '.', TYPE), VALUE "
         "FROM information_schema.ROCKSDB_COMPACTION_STATS WHERE TYPE IN ('NumFiles', 'CompactedFiles', 'SizeBytes', "
         "'Score', 'RnGB', 'MovedGB', 'WriteGB', 'WnewGB', 'WblobGB', 'CompSec') "
         "UNION ALL SELECT CF_NAME, STAT_TYPE, VALUE FROM information_schema.ROCKSDB_CFSTATS WHERE STAT_TYPE IN "
         "('NUM_IMMUTABLE_MEM_TABLE', 'MEM_TABLE_FLUSH_PENDING', 'COMPACTION_PENDING', 'CUR_SIZE_ACTIVE_MEM_TABLE') "
         "UNION ALL SELECT CF_NAME, LOWER(OPTION_TYPE), VALUE FROM information_schema.ROCKSDB_CF_OPTIONS "
         "WHERE OPTION_TYPE IN ('WRITE_BUFFER_SIZE', 'MAX_WRITE_BUFFER_NUMBER', 'MIN_WRITE_BUFFER_NUMBER_TO_MERGE', "
         "'NUM_LEVELS', 'LEVEL0_FILE_NUM_COMPACTION_TRIGGER', 'LEVEL0_SLOWDOWN_WRITES_TRIGGER', "
         "'LEVEL0_STOP_WRITES_TRIGGER', 'MAX_BYTES_FOR_LEVEL_BASE', 'MAX_BYTES_FOR_LEVEL_MULTIPLIER', "
         "'LEVEL_COMPACTION_DYNAMIC_LEVEL_BYTES', 'DISABLE_AUTO_COMPACTIONS', 'COMPACTION_STYLE') "
         "UNION ALL SELECT '', UPPER(VARIABLE_NAME), VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
         "WHERE VARIABLE_NAME IN ('ROCKSDB_BYTES_WRITTEN', 'ROCKSDB_FLUSH_WRITE_BYTES', "
         "'ROCKSDB_COMPACT_WRITE_BYTES', 'ROCKSDB_STALL_TOTAL_SLOWDOWNS', 'ROCKSDB_STALL_TOTAL_STOPS') "
         "UNION ALL SELECT '', 'IO_LIMIT', @@GLOBAL.rocksdb_rate_limiter_bytes_per_sec "
         "UNION ALL SELECT '', 'DEFAULT_OPTIONS', @@GLOBAL.rocksdb_default_cf_options";
}

Result<MyRocksFigures> ReadMyRocksFigures(const std::vector<MysqlSession::Row>& rows) {
  std::map<std::string, Stats> by_family;
  for (const MysqlSession::Row& row : rows) {
    const bool is_row = row.size() == 3 && row[0] && row[1];
    const bool is_counter = is_row && row[1]->starts_with("compaction.");
    // A compaction that drops values adds less than nothing to the new bytes of its level.
    const double least = is_counter && row[1]->ends_with(".WnewGB") ? -kMost : 0;
    if (!is_row || (is_counter && !ParseNumber(row[2].value_or(""), {.min = least, .max = kMost}).ok()))
      return Status::Error("MariaDB: the figures of MyRocks cannot be read");
    by_family[*row[0]][*row[1]] = row[2].value_or("");
  }
  const Stats database = std::move(by_family[""]);
  by_family.erase("");
  if (by_family.empty()) return Status::Error("MariaDB: MyRocks tells no figures");
  MyRocksFigures figures;
  figures.user_bytes = Number(database, "ROCKSDB_BYTES_WRITTEN");
  figures.background_bytes =
      Number(database, "ROCKSDB_FLUSH_WRITE_BYTES") + Number(database, "ROCKSDB_COMPACT_WRITE_BYTES");
  figures.io_limit_bytes_per_second = Number(database, "IO_LIMIT");
  figures.brakes = Count(database, "ROCKSDB_STALL_TOTAL_SLOWDOWNS") + Count(database, "ROCKSDB_STALL_TOTAL_STOPS");
  const auto options = database.find("DEFAULT_OPTIONS");
  for (const auto& [name, stats] : by_family)
    figures.families.emplace(name, ReadFamily(stats, options == database.end() ? "" : options->second));
  return figures;
}

uint64_t EstimateDebt(const MyRocksFamily& family) {
  const LsmOptions& o = family.options;
  const RocksDbCounters& c = family.counters;
  const auto base_level = static_cast<size_t>(c.base_level);
  if (o.compaction_style != CompactionStyle::kLevel || c.levels.empty()) return 0;
  auto target = static_cast<double>(o.max_bytes_for_level_base);
  if (o.level_compaction_dynamic_level_bytes && c.levels.size() > base_level)
    target = std::min(target, c.levels.back().bytes / std::pow(family.level_multiplier,
                                                               static_cast<double>(c.levels.size() - 1 - base_level)));
  const bool begins = c.l0_files >= o.level0_file_num_compaction_trigger ||
                      c.l0_bytes >= static_cast<double>(o.max_bytes_for_level_base);
  double moved = begins ? c.l0_bytes : 0;
  double debt = begins ? c.l0_bytes + c.base_level_bytes : 0;
  for (size_t level = base_level; level + 1 < c.levels.size(); ++level, target *= family.level_multiplier) {
    const double size = c.levels[level].bytes + moved;
    moved = std::max(0.0, size - target);
    if (moved > 0) debt += moved * (c.levels[level + 1].bytes / size + 1);
  }
  return static_cast<uint64_t>(std::min(debt, kMost));
}

}  // namespace weir
