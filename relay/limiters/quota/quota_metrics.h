// QuotaMetrics: counts the decisions and settlements of the quota limiter, and shows its metrics.
//
// Decisions are counted by class of models. Clients cannot make the number of classes grow, because the configuration
// states the classes. The configuration may change while the process runs, so only the first kMaxClasses classes that
// the process meets have a label of their own; all other classes share the label "other".
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/mutex.h"
#include "relay/limiters/config_reads.h"
#include "relay/limiters/quota/open_reservations.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/observe/metrics/metric_families.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

class QuotaMetrics : public QuotaObserver {
 public:
  static constexpr size_t kMaxClasses = 32;

  // `on_store_failure` is called when a call of the store fails, unless the call before it failed too. It runs on the
  // thread of the failed call. It may be null. The clock must outlive this object.
  explicit QuotaMetrics(const Clock& clock = Clock::System(), std::function<void()> on_store_failure = nullptr);

  void OnDecision(Call call, std::string_view model_class, const Decision& decision) override;
  void OnSettled(const Settled& settled, bool refund) override;
  void OnExtended(const Settled& settled) override;
  void OnStoreAnswer(Duration latency, bool available) override;

  void OnConfigRead(bool good) { config_reads_.Note(good); }

  // Adds the metrics. `health` is the store's health; this function does not call the store.
  void AppendTo(MetricFamilies& families, const StoreHealth& health) const;
  // Adds a table of the decisions by class of models. Decisions of explain are left out.
  void AppendLive(LiveTables& tables, const StoreHealth& health) const;

 private:
  using Counter = std::atomic<uint64_t>;
  static constexpr size_t kTierLabels = kTiers + 1;  // the last label means that no tier refused
  static constexpr size_t kSettledCodes = 6;
  enum class Outcome : uint8_t { kAllowed, kRefused, kShadowed };
  static constexpr size_t kOutcomes = 3;
  using TierCounts = std::array<Counter, kTierLabels>;
  using CodeCounts = std::array<TierCounts, kQuotaCodes>;

  struct ClassCounts {
    std::string name;
    std::array<std::array<CodeCounts, kOutcomes>, kCalls> decisions{};
  };
  ClassCounts& CountsOf(std::string_view model_class);
  static uint64_t Decided(const ClassCounts& counts, Outcome outcome);
  void AppendDecisions(MetricFamilies& families) const;
  static void AppendDecisions(MetricFamilies& families, const ClassCounts& counts, size_t call, size_t outcome);
  void AppendSettlements(MetricFamilies& families) const;
  static void AppendStore(MetricFamilies& families, const StoreHealth& health);

  const Clock& clock_;
  const std::function<void()> on_store_failure_;
  std::atomic<bool> store_available_{true};
  // The classes in the order in which the process met them, after "other"; then null. Entries are never removed.
  std::array<std::atomic<ClassCounts*>, kMaxClasses + 1> classes_{};
  Mutex mutex_;  // also held to add a class to classes_
  std::array<std::unique_ptr<ClassCounts>, kMaxClasses + 1> owned_ WEIR_GUARDED_BY(mutex_);

  std::array<Counter, kQuotaCodes> shadowed_{};
  Counter unchecked_{0};
  std::array<std::array<Counter, kSettledCodes>, 3> settled_{};  // commits, refunds, extensions
  Counter late_{0};
  Counter again_{0};
  Counter tokens_less_{0};
  Counter tokens_more_{0};
  LatencyMetric store_answers_;
  LatencyMetric store_failures_;
  ConfigReads config_reads_;
  OpenReservations open_;
};

}  // namespace weir
