#include <array>
#include <cmath>

#include "config/text/parse.h"
#include "relay/doctor/check_words.h"
#include "relay/net/listener.h"

namespace weir {
namespace {

// Returns the memory at which the emergency begins: the relay then holds back bulk work and scans.
uint64_t EmergencyBytes(const Facts& facts) {
  return static_cast<uint64_t>(facts.settings.relay.storage.limiter.emergency *
                               static_cast<double>(facts.settings.memory_target_bytes));
}

std::optional<Finding> FileLimit(const Facts& facts) {
  const ServerSettings& server = facts.settings.relay.server;
  const InstanceFacts* relay = LocalRelay(facts);
  const std::optional<double> running = relay != nullptr ? relay->metrics.Find("process_max_fds") : std::nullopt;
  const uint64_t most = running ? AsCount(*running) : facts.host.most_files;
  const uint64_t needed = FilesFor(server.max_connections);
  if (!facts.has_relay || most == 0 || most >= needed || (facts.relay_may_run() && !running)) return std::nullopt;
  return Finding{.severity = Severity::kAdvice,
                 .saw = (running ? "The relay that runs may have " : "A program started here may have ") +
                        std::to_string(most) + " files open; " + std::to_string(server.max_connections) +
                        " connections (WEIR_MAX_CONNECTIONS) need " + std::to_string(needed) + ".",
                 .why = "Connections beyond the limit wait in the kernel, unanswered.",
                 .act =
                     "Raise the limit in the unit of systemd, or in the shell that starts the relay; or allow fewer "
                     "connections.",
                 .commands = {"LimitNOFILE=" + std::to_string(needed), "ulimit -n " + std::to_string(needed)}};
}

std::optional<Finding> MemoryLimitTight(const Facts& facts) {
  if (!facts.has_relay || !facts.host.room || !facts.host.room->cgroup_limit_bytes) return std::nullopt;
  const uint64_t limit = *facts.host.room->cgroup_limit_bytes;
  const uint64_t mark = EmergencyBytes(facts);
  if (mark <= limit) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The memory target is " + Mebibytes(facts.settings.memory_target_bytes) +
                        ", its emergency begins at " + Mebibytes(mark) + ", and the cgroup may have " +
                        Mebibytes(limit) + ".",
                 .why = "The kernel kills the relay before the throttle makes it give memory back.",
                 .act = "Lower the target, or give the cgroup more (MemoryMax=, docker run --memory).",
                 .commands = {TargetOf(TargetWithin(facts, limit))}};
}

std::optional<Finding> MemoryTargetLarge(const Facts& facts) {
  const std::optional<uint64_t> resident = ResidentBytes(facts);
  if (!facts.has_relay || !facts.host.room || !resident) return std::nullopt;
  const uint64_t room = facts.host.room->free_bytes() + *resident;
  if (facts.settings.memory_target_bytes <= room) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The memory target is " + Mebibytes(facts.settings.memory_target_bytes) + "; " +
                        Mebibytes(room) + " are free for a relay here.",
                 .why = "Before the relay sees that memory is short, the machine swaps, or the kernel kills a process.",
                 .act = "Lower the target, or free memory. 0 takes 66 % of what is free at start.",
                 .commands = {TargetOf(kShareOfFree * static_cast<double>(room))}};
}

std::optional<Finding> MemoryHigh(const Facts& facts) {
  const std::optional<uint64_t> high = facts.host.cgroup.memory_high_bytes;
  if (!facts.has_relay || !high || *high >= EmergencyBytes(facts)) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The kernel slows the cgroup down from " + Mebibytes(*high) +
                        " on (memory.high, MemoryHigh=); the emergency of the memory target begins at " +
                        Mebibytes(EmergencyBytes(facts)) + ".",
                 .why = "The kernel then slows down the whole relay; its throttle would slow down only some work.",
                 .act = "Raise MemoryHigh=, or lower the target.",
                 .commands = {TargetOf(TargetWithin(facts, *high))}};
}

std::optional<Finding> OomKilled(const Facts& facts) {
  if (facts.host.cgroup.oom_kills == 0) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "For lack of memory the kernel has killed processes of this cgroup " +
                        Count(facts.host.cgroup.oom_kills, "time") + ".",
                 .why = "If it was the relay, all its clients were disconnected.",
                 .act = "Find out which process it was; then give the cgroup more memory, or the relay a lower target.",
                 .commands = {"journalctl -k -g 'Killed process'"}};
}

std::optional<Finding> CpuThrottled(const Facts& facts) {
  const CgroupFacts& cgroup = facts.host.cgroup;
  // Requires 600 periods, which are a minute if each has 100 ms, so that the start of a relay does not count alone.
  if (cgroup.periods < 600 || cgroup.throttled_periods * 10 < cgroup.periods) return std::nullopt;
  return Finding{
      .severity = Severity::kWarning,
      .saw = "In " + Percent(static_cast<double>(cgroup.throttled_periods) / static_cast<double>(cgroup.periods)) +
             " of its periods the cgroup had used up its share of the processors" +
             (cgroup.cpus > 0 ? ", " + FormatNumber(cgroup.cpus) + " of them" : "") + ".",
      .why = "All threads of the relay stand still for the rest of such a period, up to 100 ms.",
      .act = "Raise the quota (CPUQuota=, docker run --cpus), or give shares instead of a quota (CPUWeight=)."};
}

std::optional<Finding> ThreadsBeyondQuota(const Facts& facts) {
  const HostFacts& host = facts.host;
  if (!facts.has_relay || host.cgroup.cpus <= 0 || facts.settings.relay.relay.worker_threads > 0) return std::nullopt;
  if (2 * host.cgroup.cpus > host.cpus) return std::nullopt;
  const std::string threads = FormatNumber(std::max(1.0, std::ceil(host.cgroup.cpus)));
  return Finding{.severity = Severity::kAdvice,
                 .saw = "The cgroup may use " + FormatNumber(host.cgroup.cpus) + " processors of " +
                        std::to_string(host.cpus) +
                        ", and WEIR_WORKER_THREADS is not set, so the relay has a thread for each of the " +
                        std::to_string(host.cpus) + ".",
                 .why = "The threads use up the quota together at the beginning of a period, and then all stand still.",
                 .act = "Use as many threads as the quota allows:",
                 .commands = {"WEIR_WORKER_THREADS=" + threads, "WEIR_IO_THREADS=" + threads}};
}

std::optional<Finding> DiskPressure(const Facts& facts) {
  if (!facts.host.pressure || facts.host.pressure->io_full < 20) return std::nullopt;
  return Finding{
      .severity = Severity::kWarning,
      .saw = "In " + Percent(facts.host.pressure->io_full / 100) +
             " of the last minute, every active task on this machine waited for a disk.",
      .why = "Every OK waits for the disk.",
      .act = "See which program uses the disk; move that program, or the data directory, to a disk of its own.",
      .commands = {"cat /proc/pressure/io"}};
}

std::optional<Finding> MemoryPressure(const Facts& facts) {
  if (!facts.host.pressure || facts.host.pressure->memory_full < 5) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "In " + Percent(facts.host.pressure->memory_full / 100) +
                        " of the last minute, every active task on this machine waited for memory.",
                 .why = "The machine reads back pages that it has just dropped, and everything is slow.",
                 .act = "End programs that are not needed here, or lower the relay's memory target.",
                 .commands = {"cat /proc/pressure/memory"}};
}

std::optional<Finding> CpuPressure(const Facts& facts) {
  if (!facts.host.pressure || facts.host.pressure->cpu_some < 80) return std::nullopt;
  return Finding{.severity = Severity::kAdvice,
                 .saw = "In " + Percent(facts.host.pressure->cpu_some / 100) +
                        " of the last minute, at least one task waited for a processor.",
                 .why = "Late answers may then have a cause that the throttle does not control.",
                 .act = "See which processes use the processors; if it is the relay, get a larger machine.",
                 .commands = {"cat /proc/pressure/cpu"}};
}

std::optional<Finding> Swapped(const Facts& facts) {
  if (!facts.process || facts.process->swapped_bytes < 64 * kMiB) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = Mebibytes(facts.process->swapped_bytes) + " of the relay, process " +
                        std::to_string(facts.process->process) + ", are swapped out.",
                 .why = "A request that needs them waits for the disk, and the throttle cannot see why.",
                 .act =
                     "Lower the memory target to what fits beside the other programs, or keep the relay out of swap "
                     "(MemorySwapMax=0 in its unit)."};
}

std::optional<Finding> CommitLimit(const Facts& facts) {
  const std::optional<uint64_t> resident = ResidentBytes(facts);
  if (!facts.has_relay || !facts.host.commit_left_bytes || !resident) return std::nullopt;
  const uint64_t room = *facts.host.commit_left_bytes + *resident;
  if (room >= facts.settings.memory_target_bytes) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The kernel promises no more memory than it has (vm.overcommit_memory=2), and " +
                        Mebibytes(room) + " are left for a target of " + Mebibytes(facts.settings.memory_target_bytes) +
                        ".",
                 .why = "The relay's allocations fail although memory is free, and the relay ends.",
                 .act = "Let the kernel decide by itself, or allow more (vm.overcommit_ratio).",
                 .commands = {"sysctl vm.overcommit_memory=0"}};
}

// Advises against huge pages only if the figures show that they do harm, unlike most guides.
std::optional<Finding> HugePages(const Facts& facts) {
  const InstanceFacts* relay = LocalRelay(facts);
  if (!facts.host.huge_pages_always || relay == nullptr) return std::nullopt;
  const uint64_t used = AsCount(relay->metrics.Get("weir_memory_used_bytes"));
  const uint64_t resident = AsCount(relay->metrics.Get("process_resident_memory_bytes"));
  if (used == 0 || resident < used + used / 2 + 256 * kMiB) return std::nullopt;
  return Finding{
      .severity = Severity::kAdvice,
      .saw = "The relay has " + Mebibytes(resident) + " of memory and uses " + Mebibytes(used) +
             " of it; transparent huge pages are always on.",
      .why = "A huge page stays whole even if the relay gave back most of it; the memory target does not count that.",
      .act = "Give huge pages to programs that ask for them:",
      .commands = {"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"}};
}

std::optional<Finding> ClockNotKept(const Facts& facts) {
  if (facts.host.clock_is_kept.value_or(true)) return std::nullopt;
  return Finding{.severity = Severity::kAdvice,
                 .saw = "The kernel does not know of a service that keeps this machine's clock right.",
                 .why = "Events are judged by this clock: dated more than " +
                        std::to_string(facts.settings.relay.relay.created_at_future_s) +
                        " s ahead of it (WEIR_CREATED_AT_FUTURE_S) they are refused, and they expire by it.",
                 .act = "See whether a clock service runs; if the machine is a guest, its host may do it all the same.",
                 .commands = {"timedatectl"}};
}

}  // namespace

std::span<const DoctorCheck> HostChecks() {
  static constexpr std::array<DoctorCheck, 14> kChecks = {{
      {"file-limit", FileLimit},
      {"memory-limit-tight", MemoryLimitTight},
      {"memory-target-large", MemoryTargetLarge},
      {"memory-high", MemoryHigh},
      {"oom-killed", OomKilled},
      {"cpu-throttled", CpuThrottled},
      {"threads-beyond-quota", ThreadsBeyondQuota},
      {"disk-pressure", DiskPressure},
      {"memory-pressure", MemoryPressure},
      {"cpu-pressure", CpuPressure},
      {"swapped", Swapped},
      {"commit-limit", CommitLimit},
      {"huge-pages", HugePages},
      {"clock-not-kept", ClockNotKept},
  }};
  return kChecks;
}

}  // namespace weir
