// The process itself, under the names that every Prometheus client library gives them.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "relay/relay_metrics_rep.h"

namespace weir {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

void AppendProcess(double started_at, MetricFamilies& families) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  families.Counter("process_cpu_seconds_total", "CPU time of the process, user and system")
      .Add(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  families.Gauge("process_start_time_seconds", "When the process started, in seconds since 1970").Add(started_at);

  std::ifstream statm("/proc/self/statm");
  uint64_t virtual_pages = 0;
  uint64_t resident_pages = 0;
  if (!(statm >> virtual_pages >> resident_pages)) return;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  families.Gauge("process_resident_memory_bytes", "Memory of the process that is resident").Add(resident_pages * page);
  families.Gauge("process_virtual_memory_bytes", "Address space of the process").Add(virtual_pages * page);
}

}  // namespace weir
