// What controls from outside of RocksDB: the published plan, a fixed rate, weir.
#pragma once

#include <condition_variable>
#include <mutex>

#include "bench/plan/published_plan.h"
#include "bench/storm/policy.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// On RocksDB's options as they are, for the plan does not touch them. Load is the plan's: the larger of L0 files / 10
// and half of the highest compaction score. Bulk work has the plan's limiter of the import, interactive work that of
// EVENT and REQ.
class PlanPolicy final : public Policy {
 public:
  // A setpoint for bulk that is NaN is the plan's.
  explicit PlanPolicy(double setpoint);
  void Start(StormEngine& engine) override;
  void Stop() override;
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override;
  bool Read(Party party, uint64_t bytes, const std::function<void()>& read) override;
  PolicyView View() const override;

 private:
  enum class Kind { kRead, kWrite };

  void AfterOperation(PublishedPlan& plan, Kind kind);
  double ProcessVariable() const;

  StormEngine* engine_ = nullptr;
  double l0_trigger_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable let_go_;
  bool stopped_ = false;
  PublishedPlan writes_{kPlanWrites};
  PublishedPlan import_;
  PublishedPlan reads_{kPlanReads};
};

// Bulk work at a rate that somebody knew beforehand; the rest passes.
class StaticPolicy final : public Policy {
 public:
  explicit StaticPolicy(double bulk_megabytes_per_second) : bytes_per_second_(bulk_megabytes_per_second * 1e6) {}
  void Adapt(StormEngine::Options& options) const override { options.move_brakes = true; }
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override;
  void Stop() override;
  PolicyView View() const override { return {.bulk_bytes_per_second = bytes_per_second_, .reason = "static"}; }

 private:
  const double bytes_per_second_;
  std::mutex mutex_;
  std::condition_variable let_go_;
  bool stopped_ = false;
  TimePoint next_{};  // when the next bulk write may start
};

class WeirPolicy : public Policy {
 public:
  enum class Classes { kOne, kTwo };
  // A setpoint that is NaN is as the settings have it.
  WeirPolicy(const LimiterSettings& settings, Classes classes, double setpoint);
  void Adapt(StormEngine::Options& options) const override { options.move_brakes = true; }
  void Start(StormEngine& engine) override;
  void Stop() override { limiter_->Stop(); }
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override;
  bool Read(Party party, uint64_t bytes, const std::function<void()>& read) override;
  PolicyView View() const override;

 private:
  LimiterSettings settings_;
  const Classes classes_;
  std::unique_ptr<AdaptiveLimiter> limiter_;
};

// Weir, and at most this many of the long scans at once, always: to see whether limiting them helps anybody.
class FewScansPolicy final : public WeirPolicy {
 public:
  FewScansPolicy(const LimiterSettings& settings, double scans_at_once)
      : WeirPolicy(settings, Classes::kTwo, std::numeric_limits<double>::quiet_NaN()),
        free_(static_cast<int>(scans_at_once)) {}
  bool Read(Party party, uint64_t bytes, const std::function<void()>& read) override;

 private:
  std::mutex mutex_;
  std::condition_variable one_ended_;
  int free_;
};

}  // namespace weir
