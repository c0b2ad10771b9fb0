// MemoryQuotaStore: usage in the memory of one process, which no other shares. The YAML store writes it to a file.
//
// A model has a log for each window, with a running sum: an allowed charge costs only the entries that have left since
// the last decision, however many are in the window. A refusal walks along the entries that must leave until it fits,
// for retry_after. Up to kExactEntries a log is exact; then entries closer than granule(window) become one, with the
// time of the last. All logs together hold max_entry_bytes and a little each (window_log.h); beyond that they are
// coarser.
#pragma once

#include <atomic>
#include <memory>

#include "throttle/quota/quota_store.h"

namespace weir {

class MemoryShards;

struct MemoryStoreOptions {
  size_t max_models = 100'000;       // models without a quota for which anything counts; those with one always have
                                     // room
  size_t max_tier_keys = 1'000'000;  // counts of tiers, for all models
  // Open reservations, of all models; the ends of as many more are remembered.
  size_t max_reservations = 250'000;
  size_t max_named_ended = kMostNamedEnded;   // per model; for all models max_reservations
  size_t max_entry_bytes = size_t{64} << 20;  // for windows, except the minutes of models with a quota
};

class MemoryQuotaStore : public QuotaStore {
 public:
  // The clock must outlive it.
  explicit MemoryQuotaStore(MemoryStoreOptions options = {}, const WallClock& clock = WallClock::Unstepped());
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
  const size_t max_models_;
  const std::unique_ptr<MemoryShards> shards_;
  std::atomic<uint64_t> dropped_entries_{0};
};

}  // namespace weir
