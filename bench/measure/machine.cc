#include "bench/measure/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "config/text/rfc3339.h"

namespace weir {
namespace {

std::string ProcessorName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string DateOfToday() {
  return FormatTime(WallClock::System().Now()).substr(0, std::string_view("2026-02-20").size());
}

}  // namespace

std::string DescribeMachine() {
  utsname system{};
  uname(&system);
  const long memory_mib = sysconf(_SC_PHYS_PAGES) / (1 << 10) * sysconf(_SC_PAGESIZE) / (1 << 10);
  return "date: " + DateOfToday() + "\nprocessor: " + ProcessorName() +
         "\ncores: " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + "\nmemory: " + std::to_string(memory_mib) +
         " MiB\nkernel: " + system.sysname + " " + system.release + "\ncompiler: " __VERSION__ "\n";
}

}  // namespace weir
