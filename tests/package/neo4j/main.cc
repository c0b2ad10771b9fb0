#include <weir/monitors/neo4j/neo4j_monitor.h>
#include <weir/throttle/adaptive_limiter.h>

#include <cstdio>

// No server listens there: the monitor says so, and the limiter lets everything pass.
int main() {
  weir::Neo4jMonitor monitor({.host = "127.0.0.1", .port = 1}, uint64_t{1} << 30);
  weir::AdaptiveLimiter limiter(monitor, weir::LimiterSettings{});
  std::printf("%s\n", monitor.SampleOnce().message().c_str());
  const auto transaction = monitor.Begin(100);
  return monitor.Details().max_heap_bytes == 0 ? 0 : 1;
}
