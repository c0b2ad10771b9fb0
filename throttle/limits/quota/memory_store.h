// MemoryQuotaStore: a QuotaStore (quota_store.h) that counts in the memory of this process. No other process shares its
// counters, and they are lost when the store is destroyed. The derived class YamlQuotaStore (yaml_store.h) writes them
// to a file.
//
// Each window of a model has a log of its entries, with a running sum. To allow a charge, the store only removes the
// entries that have left the window since the last decision, so the cost does not depend on the number of entries. To
// refuse a charge, it also visits the entries that must leave before the charge fits, to compute retry_after. A log is
// exact up to kExactEntries (window_log.h). In a longer log, entries that are closer than granule(window) become one
// entry with the time of the last of them. All logs together, except the minutes of models with a quota, take at most
// max_entry_bytes, plus a little for each log (window_log.h). Near that bound, these logs merge entries earlier.
#pragma once

#include <atomic>
#include <memory>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

class MemoryShards;

struct MemoryStoreOptions {
  // The most models without a quota that may have counters at the same time. Models with a quota always have room. An
  // import may exceed this number; then there is no room until enough models are forgotten, or turn out to have a
  // quota (Charge::default_quota).
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;  // counters of tiers, of all models together
  // The most open reservations of all models together. The store also remembers at most this number of ends of
  // reservations without a name, and at most this number of ends of named reservations (Charge::token).
  size_t max_reservations = 250'000;
  // The most ends of named reservations that the store remembers for each model; max_reservations bounds those of all
  // models.
  size_t max_named_ended = kMostNamedEnded;
  size_t max_entry_bytes = size_t{64} << 20;  // the entries of windows; without the minutes of models with a quota
};

class MemoryQuotaStore : public QuotaStore {
 public:
  // `clock` must outlive the store. It must be the clock by which the callers find the calendar day (QuotaLimiter):
  // otherwise a store whose clock is ahead would forget the counter of a day that is not over.
  explicit MemoryQuotaStore(MemoryStoreOptions options = {}, const WallClock& clock = WallClock::System());
  ~MemoryQuotaStore() override;

  std::string name() const override { return "memory"; }
  Pace pace() const override { return Pace::kAtOnce; }
  size_t exact_entries() const override;
  Duration granule(Duration window) const override;

  ChargeAnswer Run(const Charge& charge) override;
  SettlementAnswer Run(const Settlement& settlement) override;
  Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) override;
  Status StateQuota(std::string_view model, const ModelQuota& quota) override;
  Result<std::vector<std::string>> StatedByConfiguration() override;
  Status Reset(std::string_view model) override;
  Result<std::vector<std::string>> Models() override;
  Result<QuotaState> Export() override;
  Status Import(const QuotaState& state) override;
  void Prune() override;
  StoreHealth Health() const override;

 private:
  void Decide(const Charge& charge, ChargeAnswer* answer);
  void Set(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration);

  const WallClock& clock_;
  const std::unique_ptr<MemoryShards> shards_;
  std::atomic<uint64_t> dropped_entries_{0};
};

}  // namespace weir
