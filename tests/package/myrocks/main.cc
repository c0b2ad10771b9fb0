#include <weir/config/wire/mysql/mysql_url.h>
#include <weir/monitors/myrocks/myrocks_monitor.h>
#include <weir/throttle/adaptive_limiter.h>

#include <cstdio>

// No server listens there: the monitor says so, and the limiter lets everything pass.
int main() {
  weir::MyRocksMonitor monitor(weir::ParseMysqlUrl("mysql://weir@127.0.0.1:1").value(), uint64_t{1} << 30);
  weir::AdaptiveLimiter limiter(monitor, weir::LimiterSettings{});
  const weir::Status sampled = monitor.SampleOnce();
  std::printf("%s\n", sampled.message().c_str());
  return sampled.ok() ? 1 : 0;
}
