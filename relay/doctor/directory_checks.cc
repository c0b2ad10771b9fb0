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
                   .why = "Nothing can be stored, and who reads from it waits too.",
                   .act = "See what the kernel says of the disk, or of the server that it is on.",
                   .commands = {"journalctl -k -p err", "findmnt -T " + Quoted(d.path)}};
  });
}

std::optional<Finding> DirectoryWrong(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.is_file) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = NameOf(d) + " is no directory.",
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
                   .why = "When it is full nothing can be stored; what is there can still be read.",
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
                   .why = "Without one left the disk is as good as full.",
                   .act = "See where the many small files are.",
                   .commands = {"df -i " + Quoted(d.path)}};
  });
}

std::optional<Finding> DiskReadOnly(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (!d.read_only) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = NameOf(d) + " is on a disk that is mounted read-only.",
                   .why = "Nothing can be stored. A kernel also mounts a disk so when it fails.",
                   .act = "See what the kernel says of the disk; then mount it to be written to.",
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
                   .why = "All of it is gone when the machine restarts, and it takes memory that the relay counts on.",
                   .act = "Name a directory on a disk, unless this is a trial."};
  });
}

std::optional<Finding> DiskOnNetwork(const Facts& facts) {
  return WorstOf(facts.directories, [](const DirectoryFacts& d) -> std::optional<Finding> {
    if (d.file_system.empty() || d.file_system == "tmpfs") return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = NameOf(d) + " is on another machine (" + d.file_system + ").",
                   .why =
                       "Every OK waits for the network, and two machines may come to write to one database: its "
                       "lock holds only as far as that server and its mounts keep it.",
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
    return Finding{.severity = median >= 0.1 || worst >= 1 ? Severity::kWarning : Severity::kAdvice,
                   .saw = NameOf(d) + " took " + Milliseconds(median) + " for an fsync, the longest " +
                          Milliseconds(worst) + " (" + std::to_string(d.syncs->count) + " of 4 KiB).",
                   .why = "What is acknowledged waits for one. A good SSD takes some 1 ms, a disk that turns 10 ms.",
                   .act =
                       "See whether others load the disk; else a faster one, local to the machine. For events "
                       "WEIR_DB_SYNC=interval gives up the last moment before a power cut instead.",
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
