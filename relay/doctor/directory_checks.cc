#include <array>

#include "config/text/parse.h"
#include "relay/doctor/check_words.h"

namespace weir {
namespace {

std::string NameOf(const DirectoryFacts& d) { return "The directory of " + d.holds + ", " + d.path + ","; }

std::optional<Finding> DiskHangs(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.hangs) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = NameOf(d) + " is on a disk that has not answered for 5 s.",
                   .why = "Data cannot be stored there, and reads wait too.",
                   .act = "See what the kernel says about the disk, or about the server that it is on.",
                   .commands = {"journalctl -k -p err", "findmnt -T " + Quoted(d.path)}};
  });
}

std::optional<Finding> DirectoryWrong(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.is_file) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = NameOf(d) + " is not a directory.",
                   .why = "A relay or gate with these settings cannot start.",
                   .act = "Name another one, or put the file elsewhere."};
  });
}

std::optional<Finding> DiskFull(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    const bool little = d.free_bytes < 1024 * kMiB || (d.free_bytes < 10'240 * kMiB && d.free_bytes * 50 < d.bytes);
    if (d.bytes == 0 || d.read_only || !little) return std::nullopt;
    const bool full = d.free_bytes < 64 * kMiB;
    return Finding{.severity = full ? Severity::kBroken : Severity::kWarning,
                   .saw = NameOf(d) + " is on a disk with " + ReadableBytes(d.free_bytes) + " free of " +
                          ReadableBytes(d.bytes) + ".",
                   .why = "When the disk is full, nothing can be stored; stored data can still be read.",
                   .act = "Make room, or move the directory to a larger disk.",
                   .commands = {"df -h " + Quoted(d.path)}};
  });
}

std::optional<Finding> DiskFiles(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (d.files == 0 || d.read_only || d.free_files >= 1000) return std::nullopt;
    return Finding{.severity = d.free_files < 10 ? Severity::kBroken : Severity::kWarning,
                   .saw = NameOf(d) + " is on a disk that can hold " + std::to_string(d.free_files) +
                          " more files of " + ShortNumber(d.files) + ".",
                   .why = "When no more files can be made, nothing can be stored, as on a full disk.",
                   .act = "Find out where the many small files are.",
                   .commands = {"df -i " + Quoted(d.path)}};
  });
}

std::optional<Finding> DiskReadOnly(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.read_only) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = NameOf(d) + " is on a disk that is mounted read-only.",
                   .why = "Nothing can be stored. The kernel also remounts a failing disk read-only.",
                   .act = "See what the kernel says about the disk; then remount it read-write.",
                   .commands = {"findmnt -T " + Quoted(d.path), "journalctl -k -p err"}};
  });
}

std::optional<Finding> DirectoryOpen(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.exists || !d.is_private || d.others == 0) return std::nullopt;
    char mode[16];
    std::snprintf(mode, sizeof mode, "%03o", d.others);
    return Finding{.severity = Severity::kWarning,
                   .saw = NameOf(d) + " gives group and others the rights " + mode + ".",
                   .why = "Other users of this machine can read direct messages.",
                   .act = "Keep them out:",
                   .commands = {"chmod go= " + Quoted(d.path)}};
  });
}

std::optional<Finding> DiskForgets(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (d.file_system != "tmpfs") return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = NameOf(d) + " is in memory (tmpfs).",
                   .why = "Its data is lost when the machine restarts, and takes memory that the relay counts on.",
                   .act = "Name a directory on a disk, unless this is a trial."};
  });
}

std::optional<Finding> DiskOnNetwork(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (d.file_system.empty() || d.file_system == "tmpfs") return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = NameOf(d) + " is on another machine (" + d.file_system + ").",
                   .why =
                       "Every OK waits for the network, and two machines may write to one database: its lock holds "
                       "only if that server and its mounts respect it.",
                   .act =
                       "Put the directory on a disk of this machine; several machines share a PostgreSQL "
                       "(relay/SEVERAL.md)."};
  });
}

std::optional<Finding> SyncSlow(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.syncs) return std::nullopt;
    const double median = d.syncs->median.count();
    const double worst = d.syncs->worst.count();
    if (median < 0.02 && worst < 1) return std::nullopt;
    return Finding{
        .severity = median >= 0.1 || worst >= 1 ? Severity::kWarning : Severity::kAdvice,
        .saw = NameOf(d) + " took " + Milliseconds(median) + " for an fsync, the longest " + Milliseconds(worst) +
               " (" + std::to_string(d.syncs->count) + " of 4 KiB).",
        .why = "Every acknowledgement waits for an fsync. A good SSD takes about 1 ms, a spinning disk 10 ms.",
        .act =
            "See whether other programs load the disk; if not, use a faster local disk. For events, you can "
            "also set WEIR_DB_SYNC=interval: then a power cut loses the last events.",
        .commands = {"cat /proc/pressure/io"}};
  });
}

}  // namespace

std::span<const DoctorCheck> DirectoryChecks() {
  static constexpr std::array<DoctorCheck, 9> kChecks = {{
      {"disk-hangs", DiskHangs},
      {"directory-wrong", DirectoryWrong},
      {"disk-full", DiskFull},
      {"disk-files", DiskFiles},
      {"disk-read-only", DiskReadOnly},
      {"directory-open", DirectoryOpen},
      {"disk-forgets", DiskForgets},
      {"disk-on-network", DiskOnNetwork},
      {"sync-slow", SyncSlow},
  }};
  return kChecks;
}

}  // namespace weir
