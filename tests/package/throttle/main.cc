#include <weir/throttle/adaptive_limiter.h>

#include <cstdio>

namespace {

class HalfFull final : public weir::LoadProbe {
  weir::Status Probe(weir::TimePoint /*now*/, weir::LoadSample* sample) override {
    sample->Add({.name = "queue", .level = 0.5});
    return {};
  }
};

}  // namespace

int main() {
  weir::LoadMonitor monitor(std::make_unique<HalfFull>());
  weir::AdaptiveLimiter limiter(monitor);
  monitor.Start();
  limiter.Start();
  limiter.MaybeThrottle(weir::Operation::kWrite);
  std::printf("level %.1f\n", monitor.LoadLevel());
  return 0;
}
