// The real AdaptiveLimiter, driven by hand: no thread, no sleep, the simulation's clock.
#pragma once

#include <unordered_map>

#include "bench/simulator/law.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class WeirLaw final : public Law {
 public:
  explicit WeirLaw(const LawContext& context) : limiter_(context.monitor, context.settings, context.clock) {}

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override;
  void Tick(const PlantView& plant) override;
  TimePoint Pump() override;
  void SetBulkGains(const PidGains& gains) override { limiter_.SetWriteGains(gains, WorkClass::kBulk); }
  LawView View() const override;

  AdaptiveLimiter& limiter() { return limiter_; }

 private:
  struct Waiting {
    Admission admission;
    std::function<void(LawAnswer)> answer;
  };

  void Deliver();

  AdaptiveLimiter limiter_;
  std::unordered_map<uint64_t, Waiting> waiting_;
  std::vector<uint64_t> settled_;
  uint64_t next_id_ = 0;
};

}  // namespace weir
