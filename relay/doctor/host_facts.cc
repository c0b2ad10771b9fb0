#include "relay/doctor/host_facts.h"

#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "config/text/parse.h"

namespace weir {
namespace {

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

std::optional<double> ParseOne(std::string_view text) {
  const Result<double> number = ParseNumber(text, {.min = -1e19, .max = 1e19});
  if (!number.ok()) return std::nullopt;
  return number.value();
}

// Returns the number after the key: 123 for "MemTotal: 123 kB", 45 for "nr_periods 45".
std::optional<double> NumberAfter(std::string_view text, std::string_view key) {
  const size_t at = text.starts_with(key) ? 0 : text.find("\n" + std::string(key));
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + (text[at] == '\n' ? 1 : 0) + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return ParseOne(text.substr(0, text.find_first_of(" \t\n")));
}

double Share(const std::string& pressure, std::string_view who) {
  const size_t line = pressure.find(std::string(who) + " ");
  const size_t key = line == pressure.npos ? line : pressure.find("avg60=", line);
  if (key == pressure.npos) return 0;
  const size_t begin = key + 6;
  return ParseOne(pressure.substr(begin, pressure.find_first_of(" \n", begin) - begin)).value_or(0);
}

std::optional<PressureFacts> ReadPressure(const HostFiles& files) {
  const std::string io = ReadText(files.proc + "/pressure/io");
  if (io.empty()) return std::nullopt;
  return PressureFacts{.cpu_some = Share(ReadText(files.proc + "/pressure/cpu"), "some"),
                       .memory_full = Share(ReadText(files.proc + "/pressure/memory"), "full"),
                       .io_full = Share(io, "full")};
}

// Returns true if the list `controllers`, from a line of /proc/PID/cgroup (cgroups version 1), has the controller.
bool HasController(const std::string& controllers, std::string_view controller) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');)
    if (name == controller) return true;
  return false;
}

// Returns the directories of a process's cgroups for a controller, the innermost first. In a container,
// /proc/PID/cgroup may have a path that exists only on the host; the root of the mount, which is always in the list, is
// then the process's own cgroup.
std::vector<std::string> CgroupsOf(const HostFiles& files, const std::string& process, const std::string& controller) {
  std::vector<std::string> directories;
  std::istringstream lines(ReadText(files.proc + "/" + process + "/cgroup"));
  for (std::string line; std::getline(lines, line);) {  // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !HasController(controllers, controller)) continue;
    const std::string mount = files.cgroup + (controllers.empty() ? "" : "/" + controllers);
    std::string path = line.substr(second + 1);
    for (; path.size() > 1 && path.starts_with('/'); path.resize(path.rfind('/'))) directories.push_back(mount + path);
    directories.push_back(mount);
    if (!controllers.empty()) directories.push_back(files.cgroup + "/" + controller);
  }
  return directories;
}

void ReadMemory(const std::vector<std::string>& directories, CgroupFacts* facts) {
  std::optional<double> kills;  // in the innermost cgroup; the cgroups above it also count kills in others
  for (const std::string& directory : directories) {
    const std::optional<double> high = ParseOne(ReadText(directory + "/memory.high"));  // "max" is no number
    if (high) facts->memory_high_bytes = std::min(static_cast<uint64_t>(*high), facts->memory_high_bytes.value_or(-1));
    for (const char* file : {"/memory.events", "/memory.oom_control"})
      if (!kills) kills = NumberAfter(ReadText(directory + file), "oom_kill ");
  }
  facts->oom_kills = static_cast<uint64_t>(kills.value_or(0));
}

// Reads the CPU quota and its period ("50000 100000"): from cpu.max or, in version 1, from two files.
void ReadCpu(const std::string& directory, CgroupFacts* facts) {
  std::istringstream max(ReadText(directory + "/cpu.max") + ReadText(directory + "/cpu.cfs_quota_us") + " " +
                         ReadText(directory + "/cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  if (max >> quota >> period && quota > 0 && period > 0 && (facts->cpus == 0 || quota / period < facts->cpus))
    facts->cpus = quota / period;
  const std::string stat = ReadText(directory + "/cpu.stat");
  const auto throttled = static_cast<uint64_t>(NumberAfter(stat, "nr_throttled ").value_or(0));
  if (throttled < facts->throttled_periods || throttled == 0) return;
  facts->throttled_periods = throttled;
  facts->periods = static_cast<uint64_t>(NumberAfter(stat, "nr_periods ").value_or(0));
}

CgroupFacts ReadCgroups(const HostFiles& files, const std::string& process) {
  CgroupFacts facts;
  ReadMemory(CgroupsOf(files, process, "memory"), &facts);
  for (const std::string& directory : CgroupsOf(files, process, "cpu")) ReadCpu(directory, &facts);
  return facts;
}

std::optional<bool> ClockIsKept() {
  timex clock{};
  if (adjtimex(&clock) < 0) return std::nullopt;
  return (clock.status & STA_UNSYNC) == 0;
}

// Returns 0 (no limit) for root, because a relay of root can raise its hard limit.
uint64_t MostFiles() {
  rlimit limit{};
  if (geteuid() == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_max;
}

}  // namespace

HostFacts LookAtHost(const HostFiles& files, const std::string& process) {
  HostFacts host;
  host.cpus = std::thread::hardware_concurrency();
  const std::string memory = ReadText(files.proc + "/meminfo");
  const auto kilobytes = [&memory](std::string_view key) {
    return static_cast<uint64_t>(NumberAfter(memory, key).value_or(0)) * 1024;
  };
  host.memory_bytes = kilobytes("MemTotal:");
  const Result<MemoryRoom> room =
      MemoryProbe({.proc = files.proc, .cgroup = files.cgroup, .process = process}).ReadRoom();
  if (room.ok()) host.room = room.value();
  if (NumberAfter(ReadText(files.proc + "/sys/vm/overcommit_memory"), "") == 2.0) {
    const uint64_t limit = kilobytes("CommitLimit:");
    host.commit_left_bytes = limit - std::min(limit, kilobytes("Committed_AS:"));
  }
  host.huge_pages_always =
      ReadText(files.sys + "/kernel/mm/transparent_hugepage/enabled").find("[always]") != std::string::npos;
  host.pressure = ReadPressure(files);
  host.clock_is_kept = ClockIsKept();
  host.most_files = MostFiles();
  host.cgroup = ReadCgroups(files, process);
  return host;
}

bool IsRootOfCgroups(const HostFiles& files) {
  std::istringstream groups(ReadText(files.proc + "/self/cgroup"));
  for (std::string line; std::getline(groups, line);)
    if (!line.ends_with(":/")) return false;
  return true;
}

uint64_t SwappedBytes(const HostFiles& files, int process) {
  const std::string status = ReadText(files.proc + "/" + std::to_string(process) + "/status");
  return static_cast<uint64_t>(NumberAfter(status, "VmSwap:").value_or(0)) * 1024;
}

Result<Environment> EnvironmentOf(const HostFiles& files, int process) {
  const std::string path = files.proc + "/" + std::to_string(process) + "/environ";
  if (access(path.c_str(), R_OK) != 0)
    return Status::Error("cannot read " + path + "; run this as the user of the relay, or as root");
  Environment environment;
  std::istringstream variables(ReadText(path));
  for (std::string variable; std::getline(variables, variable, '\0');) {
    const size_t equals = variable.find('=');
    if (equals != variable.npos) environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  std::istringstream arguments(ReadText(files.proc + "/" + std::to_string(process) + "/cmdline"));
  constexpr std::pair<std::string_view, const char*> kFlags[] = {
      {"--data-dir", "WEIR_DATA_DIR"}, {"--listen", "WEIR_LISTEN"}, {"--port", "WEIR_PORT"}};
  for (std::string argument; std::getline(arguments, argument, '\0');) {
    for (const auto& [flag, name] : kFlags) {
      if (argument == flag) std::getline(arguments, environment[name], '\0');
      if (argument.starts_with(std::string(flag) + "=")) environment[name] = argument.substr(flag.size() + 1);
    }
  }
  return environment;
}

}  // namespace weir
