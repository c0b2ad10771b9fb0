#include <algorithm>
#include <array>

#include "relay/doctor/check_words.h"

namespace weir {
namespace {

std::string CheckCommandFor(const Facts& facts) {
  return "weir check --data-dir " + Quoted(facts.settings.relay.data_dir);
}

std::optional<Finding> DatabaseWrong(const Facts& facts) {
  if (!facts.rocksdb || facts.rocksdb->recognised.ok()) return std::nullopt;
  return Finding{.severity = Severity::kBroken,
                 .saw = facts.rocksdb->recognised.message() + ".",
                 .why = "The relay does not start with it.",
                 .act =
                     "If it is damaged, copy the directory before anything else, see how far the damage goes, and "
                     "restore a backup (relay/OPERATING.md). Otherwise name another directory, or install the version "
                     "of weir that wrote it.",
                 .commands = {CheckCommandFor(facts)}};
}

std::optional<Finding> DatabaseCorruption(const Facts& facts) {
  if (!facts.rocksdb || facts.rocksdb->corruption.empty() || !facts.rocksdb->recognised.ok()) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "RocksDB's log, " + facts.rocksdb->path + "/LOG, has: " + facts.rocksdb->corruption,
                 .why =
                     "A part of a file did not read as it was written; events in it may be lost, and a compaction "
                     "that meets it fails each time.",
                 .act =
                     "Check the database, which the relay may use meanwhile, and the disk. If events are lost, restore "
                     "a backup.",
                 .commands = {CheckCommandFor(facts), "journalctl -k -p err"}};
}

std::optional<Finding> DatabaseLogLarge(const Facts& facts) {
  if (!facts.rocksdb || facts.rocksdb->log_bytes < uint64_t{1} << 30) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The write-ahead logs in " + facts.rocksdb->path + " have " +
                        ReadableBytes(facts.rocksdb->log_bytes) + ".",
                 .why =
                     "A relay that starts reads all of them before it serves clients. A flush may be failing: usually "
                     "the logs have some 100 MB at most.",
                 .act = "See what RocksDB says; a graceful restart flushes.",
                 .commands = {"tail " + Quoted(facts.rocksdb->path + "/LOG")}};
}

std::optional<Finding> ClockWentBack(const Facts& facts) {
  if (!facts.rocksdb || facts.rocksdb->future_seconds < 300) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The newest file in " + facts.rocksdb->path + " is " + InWords(facts.rocksdb->future_seconds) +
                        " ahead of this machine's clock.",
                 .why =
                     "The clock is wrong now, or was: events are judged by it, and new ones may be refused as dated in "
                     "the future, or treated as old.",
                 .act = "Set the clock, and run a clock service.",
                 .commands = {"timedatectl"}};
}

// The budget counts the database only, so other files on the disk must leave room for it. RocksDB needs further room
// while it compacts.
std::optional<Finding> DiskBudgetTooLarge(const Facts& facts) {
  const uint64_t budget = facts.settings.relay.retention.max_disk_bytes();
  const auto disk = std::ranges::find_if(
      facts.directories, [](const DirectoryFacts& d) { return d.holds.starts_with("the events") && d.bytes > 0; });
  if (budget == 0 || !facts.rocksdb || disk == facts.directories.end()) return std::nullopt;
  const uint64_t room = facts.rocksdb->bytes + disk->free_bytes;
  const uint64_t needed = budget + budget / 10;
  if (needed <= room) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The disk budget is " + ReadableBytes(budget) + " (WEIR_MAX_DISK_GB), and the disk of " +
                        disk->path + " has room for " + ReadableBytes(room) + " of events.",
                 .why = "The disk is full before the budget is reached, and then nothing can be stored.",
                 .act = "Lower the budget, leaving a tenth for compaction, or make room:",
                 .commands = {"WEIR_MAX_DISK_GB=" + Fixed(static_cast<double>(room) / 1.1e9, 2)}};
}

}  // namespace

std::span<const DoctorCheck> RocksDbChecks() {
  static constexpr std::array<DoctorCheck, 5> kChecks = {{
      {"database-wrong", DatabaseWrong},
      {"database-corruption", DatabaseCorruption},
      {"database-log-large", DatabaseLogLarge},
      {"clock-went-back", ClockWentBack},
      {"disk-budget-too-large", DiskBudgetTooLarge},
  }};
  return kChecks;
}

}  // namespace weir
