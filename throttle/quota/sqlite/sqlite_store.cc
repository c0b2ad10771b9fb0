#include "throttle/quota/sqlite/sqlite_store.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "throttle/quota/reservation_id.h"
#include "throttle/quota/sqlite/sqlite_charge.h"
#include "throttle/quota/sqlite/sqlite_content.h"
#include "throttle/quota/sqlite/sqlite_database.h"
#include "throttle/quota/sqlite/sqlite_schema.h"
#include "throttle/quota/sqlite/sqlite_sweep.h"

namespace weir {

struct SqliteQuotaStore::Rep {
  Rep(std::unique_ptr<SqliteDatabase> opened, SqliteStoreOptions given, const WallClock& wall_clock)
      : options(given),
        clock(wall_clock),
        database(std::move(opened)),
        models(*database),
        sweep(*database, models),
        charges(*database, models, sweep, {.models = given.max_models, .tiers = given.max_tier_keys}),
        content(*database, models) {}

  int64_t Now() const { return clock.Now().time_since_epoch().count(); }

  // `work`, all or nothing; it is given the time, which is asked for when the file is ours.
  template <typename Work>
  Status Do(Work work) {
    const std::lock_guard lock(mutex);
    SqliteTransaction transaction(*database);
    uint64_t expired = 0;
    if (database->ok()) work(Now(), &expired);
    const bool done = transaction.Commit();
    Status status = done ? Status() : Status::Error(database->problem());
    const std::lock_guard health_lock(health_mutex);
    health.problem = status.message();
    if (done) health.expired_reservations += expired;
    return status;
  }
  void CountFailure() {
    const std::lock_guard lock(health_mutex);
    ++health.failures;
  }

  const SqliteStoreOptions options;
  const WallClock& clock;

  std::mutex mutex;  // of all that follows
  std::unique_ptr<SqliteDatabase> database;
  SqliteModels models;
  SqliteSweep sweep;
  SqliteCharges charges;
  SqliteContent content;

  // Apart, so that nobody who asks how it is has to wait for the file.
  mutable std::mutex health_mutex;
  StoreHealth health;
};

Result<std::unique_ptr<SqliteQuotaStore>> SqliteQuotaStore::Open(const std::string& path, SqliteStoreOptions options,
                                                                 const WallClock& clock) {
  Result<std::unique_ptr<SqliteDatabase>> database = SqliteDatabase::Open(path, options.busy_timeout);
  if (!database.ok()) return database.status();
  Status prepared = PrepareSqliteSchema(*database.value(), options.busy_timeout);
  if (!prepared.ok()) return prepared;
  SqliteDatabase& opened = *database.value();
  auto rep = std::make_unique<Rep>(std::move(database).value(), options, clock);
  if (!opened.ok()) return Status::Error(opened.problem());
  return std::unique_ptr<SqliteQuotaStore>(new SqliteQuotaStore(std::move(rep)));
}

SqliteQuotaStore::SqliteQuotaStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
SqliteQuotaStore::~SqliteQuotaStore() = default;

std::string SqliteQuotaStore::name() const { return "sqlite:" + rep_->database->path(); }
size_t SqliteQuotaStore::exact_entries() const { return kSqliteExactEntries; }
Duration SqliteQuotaStore::granule(Duration window) const { return Duration(SqliteGranule(window.count())); }

ChargeAnswer SqliteQuotaStore::Run(const Charge& given) {
  Charge charge = given;
  charge.requests = std::clamp<int64_t>(charge.requests, 0, kMostAmount);
  charge.tokens = std::clamp<int64_t>(charge.tokens, 0, kMostAmount);
  ChargeAnswer answer;
  const Status done =
      rep_->Do([&](int64_t now, uint64_t* expired) { answer = rep_->charges.Run(charge, now, expired); });
  if (!done.ok()) {
    rep_->CountFailure();
    return {.code = QuotaCode::kStoreUnavailable,
            .tiers = std::vector<TierUsage>(charge.tiers.size()),
            .problem = done.message()};
  }
  if (answer.code == QuotaCode::kTooManyNames && charge.forces()) {
    const std::lock_guard lock(rep_->health_mutex);
    ++rep_->health.dropped_entries;
  }
  return answer;
}

SettlementAnswer SqliteQuotaStore::Run(const Settlement& settlement) {
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return {.code = SettlementAnswer::Code::kUnknown};
  SettlementAnswer answer;
  const Status done = rep_->Do(
      [&](int64_t now, uint64_t* expired) { answer = rep_->charges.Settle(id->model, settlement, now, expired); });
  if (done.ok()) return answer;
  rep_->CountFailure();
  return {.code = SettlementAnswer::Code::kStoreUnavailable, .model = id->model, .problem = done.message()};
}

Status SqliteQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  return rep_->Do([&](int64_t, uint64_t*) { rep_->content.SetQuota(model, quota); });
}

Status SqliteQuotaStore::Reset(std::string_view model) {
  return rep_->Do([&](int64_t, uint64_t*) {
    if (model.empty()) {
      rep_->content.ResetAll();
    } else {
      rep_->content.Reset(model);
    }
  });
}

Result<std::vector<std::string>> SqliteQuotaStore::Models() {
  std::vector<std::string> models;
  const Status done = rep_->Do([&](int64_t now, uint64_t* expired) { models = rep_->content.Models(now, expired); });
  if (!done.ok()) return done;
  return models;
}

Result<QuotaState> SqliteQuotaStore::Export() {
  QuotaState state;
  const Status done = rep_->Do([&](int64_t now, uint64_t* expired) { state = rep_->content.Export(now, expired); });
  if (!done.ok()) return done;
  return state;
}

Status SqliteQuotaStore::Import(const QuotaState& state) {
  return rep_->Do([&](int64_t, uint64_t*) { rep_->content.Import(state); });
}

void SqliteQuotaStore::Prune() {
  // A failure is in Health; the next call on a model forgets as well.
  (void)rep_->Do([&](int64_t now, uint64_t* expired) {
    rep_->sweep.Tiers(now);
    rep_->sweep.Models(now, expired);
  });
}

StoreHealth SqliteQuotaStore::Health() const {
  const std::lock_guard lock(rep_->health_mutex);
  return rep_->health;
}

}  // namespace weir
