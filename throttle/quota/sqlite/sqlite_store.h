// SqliteQuotaStore: usage in a SQLite file that the processes of one machine share.
//
// Every decision is one transaction (BEGIN IMMEDIATE), so that no count is lost and nothing is oversold. WAL, 5 s
// busy timeout, synchronous=NORMAL: a crash of the program loses nothing, one of the machine perhaps the last moment.
// The tables quotas, requests, tokens and daily are the published ones; requests.count, the tiers' and the
// reservations' tables are added, also to a file that has only those. A file with tables of these names and other
// columns is refused, and so is a negative quota. Negative counts in the published tables count as 0.
//
// A call waits for the disk and for the other calls and processes, busy_timeout at most: Pace::kBlocks. A file that
// stays locked for longer, is full, damaged or removed: kStoreUnavailable, with the reason; nothing was charged. For a
// second after a call has waited in vain the others wait no longer than 100 ms (the breaker of Health).
#pragma once

#include <memory>
#include <string>

#include "throttle/quota/quota_store.h"

namespace weir {

struct SqliteStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;
  bool must_exist = false;  // otherwise the file and its directory are made where there are none
};

class SqliteQuotaStore final : public QuotaStore {
 public:
  static Result<std::unique_ptr<SqliteQuotaStore>> Open(const std::string& path, SqliteStoreOptions options = {},
                                                        const WallClock& clock = WallClock::System());
  ~SqliteQuotaStore() override;

  std::string name() const override;
  Pace pace() const override { return Pace::kBlocks; }
  size_t exact_entries() const override;
  Duration granule(Duration window) const override;

  ChargeAnswer Run(const Charge& charge) override;
  SettlementAnswer Run(const Settlement& settlement) override;
  Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) override;
  Status Reset(std::string_view model) override;
  Result<std::vector<std::string>> Models() override;
  Result<QuotaState> Export() override;
  Status Import(const QuotaState& state) override;
  void Prune() override;
  StoreHealth Health() const override;

 private:
  struct Rep;
  explicit SqliteQuotaStore(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
