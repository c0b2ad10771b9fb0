#include <weir/monitors/postgres/postgres_monitor.h>
#include <weir/throttle/adaptive_limiter.h>

#include <cstdio>

// No server listens there: the monitor says so, and the limiter lets everything pass.
int main() {
  weir::PostgresMonitor monitor("host=127.0.0.1 port=1 user=weir", uint64_t{1} << 30);
  weir::AdaptiveLimiter limiter(monitor, weir::LimiterSettings{});
  std::printf("%s\n", monitor.SampleOnce().message().c_str());
  return monitor.Details().max_wal_bytes == 0 ? 0 : 1;
}
