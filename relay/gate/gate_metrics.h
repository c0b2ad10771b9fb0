// What the quotas count, for Prometheus.
//
// Labels are bounded: the classes of models are those of the configuration, at most kMaxClasses over the life of the
// process (they may be renamed while it runs), and "other".
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "relay/gate/open_reservations.h"
#include "relay/metric_families.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

class GateMetrics final : public QuotaObserver {
 public:
  static constexpr size_t kMaxClasses = 32;

  explicit GateMetrics(const Clock& clock = Clock::System());

  void OnDecision(Call call, std::string_view model_class, const Decision& decision) override;
  void OnSettled(const Settled& settled, bool refund) override;
  void OnStoreAnswer(Duration latency, bool available) override;

  void OnConfigRead(bool good);

  // Asks the store nothing that it would have to wait for.
  void AppendTo(MetricFamilies& families, const StoreHealth& health) const;

 private:
  using Counter = std::atomic<uint64_t>;
  static constexpr size_t kTierLabels = kTiers + 1;  // the last: none
  static constexpr size_t kSettledCodes = 4;
  enum class Outcome : uint8_t { kAllowed, kRefused, kShadowed };
  static constexpr size_t kOutcomes = 3;
  using TierCounts = std::array<Counter, kTierLabels>;
  using CodeCounts = std::array<TierCounts, kQuotaCodes>;

  struct ClassCounts {
    std::string name;
    std::array<std::array<CodeCounts, kOutcomes>, kCalls> decisions{};
  };
  ClassCounts& CountsOf(std::string_view model_class);
  void AppendDecisions(MetricFamilies& families) const;
  static void AppendDecisions(MetricFamilies& families, const ClassCounts& counts, size_t call, size_t outcome);
  void AppendSettlements(MetricFamilies& families) const;
  static void AppendStore(MetricFamilies& families, const StoreHealth& health);

  const Clock& clock_;
  // Filled from the front, never emptied. The first is "other".
  std::array<std::atomic<ClassCounts*>, kMaxClasses + 1> classes_{};
  std::mutex mutex_;  // who adds a class
  std::array<std::unique_ptr<ClassCounts>, kMaxClasses + 1> owned_;

  std::array<Counter, kQuotaCodes> shadowed_{};
  Counter unchecked_{0};
  std::array<std::array<Counter, kSettledCodes>, 2> settled_{};  // commits, refunds
  Counter tokens_less_{0};
  Counter tokens_more_{0};
  LatencyHistogram store_answers_;
  LatencyHistogram store_failures_;
  Counter config_reads_{0};
  Counter config_errors_{0};
  std::atomic<bool> config_good_{true};
  OpenReservations open_;
};

}  // namespace weir
