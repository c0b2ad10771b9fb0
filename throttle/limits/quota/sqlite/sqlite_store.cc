#include "throttle/limits/quota/sqlite/sqlite_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "throttle/limits/quota/nearly_full.h"
#include "throttle/limits/quota/reservation_id.h"
#include "throttle/limits/quota/sqlite/sqlite_charge.h"
#include "throttle/limits/quota/sqlite/sqlite_content.h"
#include "throttle/limits/quota/sqlite/sqlite_database.h"
#include "throttle/limits/quota/sqlite/sqlite_schema.h"
#include "throttle/limits/quota/sqlite/sqlite_sweep.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Found = SqliteCharges::Found;

// For this time after a call has given up because the file was locked, each other call waits only kShortPatience.
constexpr milliseconds kBreakerPause{1000};
constexpr milliseconds kShortPatience{100};
// Health reports a call that has waited this long, even before the call gives up.
constexpr milliseconds kLongWait{1000};
constexpr const char* kWaits =
    "a call has waited for more than a second for the file; see whether another process keeps it locked, or its disk "
    "is slow";
// How long a Prune may take. Other calls run between its parts.
constexpr milliseconds kPruneFor{200};

// Gives the file to one caller at a time. Not a std::timed_mutex, because the thread sanitizer does not recognise a
// wait for a time of the steady clock.
class FileTurn {
 public:
  class Hold {
   public:
    Hold(FileTurn& turn, Steady::time_point until) : turn_(turn) {
      MutexLock lock(turn_.mutex_);
      has_ = turn_.is_free_.wait_until(lock, until, [this]() WEIR_REQUIRES(turn_.mutex_) { return !turn_.taken_; });
      if (has_) turn_.taken_ = true;
    }
    ~Hold() {
      if (!has_) return;
      const MutexLock lock(turn_.mutex_);
      turn_.taken_ = false;
      turn_.is_free_.notify_one();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    bool has() const { return has_; }

   private:
    FileTurn& turn_;
    bool has_ = false;
  };

 private:
  Mutex mutex_;
  Condition is_free_;
  bool taken_ WEIR_GUARDED_BY(mutex_) = false;
};

class SqliteQuotaStore final : public QuotaStore {
 public:
  SqliteQuotaStore(std::unique_ptr<SqliteDatabase> opened, const SqliteStoreOptions& options, const WallClock& clock)
      : busy_timeout_(options.busy_timeout),
        max_file_bytes_(options.max_file_bytes),
        clock_(clock),
        database_(std::move(opened)),
        models_(*database_, options.max_named_ended),
        sweep_(*database_, models_),
        charges_(*database_, models_, sweep_, {.models = options.max_models, .tiers = options.max_tier_keys}),
        content_(*database_, models_) {}

  std::string name() const override { return "sqlite:" + database_->path(); }
  Pace pace() const override { return Pace::kBlocks; }
  size_t exact_entries() const override { return WindowLog::kExactEntries; }
  Duration granule(Duration window) const override { return WindowLog::Granule(window); }

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
  // Records in busy_since_ since when a call has had the file.
  class Busy {
   public:
    explicit Busy(SqliteQuotaStore& store) : store_(store) { Set(Steady::now()); }
    ~Busy() { Set({}); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    void Set(std::optional<Steady::time_point> since) {
      const MutexLock lock(store_.health_mutex_);
      store_.busy_since_ = since;
    }
    SqliteQuotaStore& store_;
  };

  // Runs `work` in one transaction, and passes to it the time, which is read once the file is locked.
  template <typename Work>
  Status Do(Work work) {
    return Do(work, Patience(Steady::now()), true);
  }
  // If `tells` is true and the file is found locked, Health reports that as a problem.
  template <typename Work>
  Status Do(Work work, milliseconds patience, bool tells);
  // Does the same, and returns the Answer of `work`.
  template <typename Answer, typename Work>
  Result<Answer> Ask(Work work);
  milliseconds Patience(Steady::time_point now) const;
  Status Fail(const std::string& problem, bool busy);
  void TellDone(const Found& found, bool changed);
  Status PrunePart(bool* tiers_done, bool* models_done);
  std::string CountFailure(const Status& failed);

  const milliseconds busy_timeout_;
  const size_t max_file_bytes_;
  const WallClock& clock_;

  FileTurn turn_;  // protects the members below, down to content_
  std::unique_ptr<SqliteDatabase> database_;
  SqliteModels models_;
  SqliteSweep sweep_;
  SqliteCharges charges_;
  SqliteContent content_;

  // Separate from turn_, so that Health does not wait for the file.
  mutable Mutex health_mutex_;
  StoreHealth health_ WEIR_GUARDED_BY(health_mutex_);
  WallTime name_lost_ WEIR_GUARDED_BY(health_mutex_){};  // when a named end was last forgotten too early
  Steady::time_point locked_until_ WEIR_GUARDED_BY(health_mutex_);
  // The start of the call that has the file.
  std::optional<Steady::time_point> busy_since_ WEIR_GUARDED_BY(health_mutex_);
  std::atomic<bool> cannot_write_{false};  // a call failed, not by a lock; a call that only reads keeps it
};

template <typename Work>
Status SqliteQuotaStore::Do(Work work, milliseconds patience, bool tells) {
  const auto begin = Steady::now();
  const FileTurn::Hold hold(turn_, begin + patience);
  if (!hold.has()) {
    const Status busy =
        Status::Error(database_->path() + ": the calls before this one have kept it busy for " +
                      std::to_string(patience.count()) + " ms; see whether another process keeps the file locked");
    return tells ? Fail(busy.message(), true) : busy;
  }
  const Busy busy(*this);
  const auto left = std::chrono::duration_cast<milliseconds>(begin + patience - Steady::now());
  database_->SetPatience(std::max(left, milliseconds(0)), patience);
  const int64_t changes = database_->changes();
  SqliteTransaction transaction(*database_);
  Found found;
  if (database_->ok()) work(SqliteNs(clock_.Now()), &found);
  if (!transaction.Commit()) {
    if (!tells && database_->was_busy()) return Status::Error(database_->problem());
    return Fail(database_->problem(), database_->was_busy());
  }
  TellDone(found, database_->changes() != changes);
  return {};
}

template <typename Answer, typename Work>
Result<Answer> SqliteQuotaStore::Ask(Work work) {
  Answer answer;
  const Status done = Do([&](int64_t now, Found* found) { answer = work(now, found); });
  if (!done.ok()) return done;
  return answer;
}

milliseconds SqliteQuotaStore::Patience(Steady::time_point now) const {
  const MutexLock lock(health_mutex_);
  const bool locked = health_.breaker != StoreHealth::Breaker::kClosed && now < locked_until_;
  return locked ? std::min(kShortPatience, busy_timeout_) : busy_timeout_;
}

Status SqliteQuotaStore::Fail(const std::string& problem, bool busy) {
  const MutexLock lock(health_mutex_);
  health_.problem = problem;
  health_.decides = StoreHealth::Decides::kNone;
  cannot_write_ = !busy;
  if (busy) {
    health_.breaker = StoreHealth::Breaker::kOpen;
    locked_until_ = Steady::now() + kBreakerPause;
  }
  return Status::Error(problem);
}

void SqliteQuotaStore::TellDone(const Found& found, bool changed) {
  const MutexLock lock(health_mutex_);
  if (!cannot_write_ || changed) {
    health_.problem.clear();
    health_.decides = StoreHealth::Decides::kAll;
    cannot_write_ = false;
  }
  health_.breaker = StoreHealth::Breaker::kClosed;
  if (found.fullness >= 0) health_.warning = found.fullness >= kNearlyFull ? kNearlyFullWarning : "";
  if (models_.TakeNameLost()) name_lost_ = clock_.Now();
  health_.expired_reservations += found.expired;
  health_.dropped_entries += found.dropped;
}

std::string SqliteQuotaStore::CountFailure(const Status& failed) {
  const MutexLock lock(health_mutex_);
  ++health_.failures;
  return failed.message();
}

ChargeAnswer SqliteQuotaStore::Run(const Charge& given) {
  Charge charge = given;
  charge.requests = std::clamp<int64_t>(charge.requests, 0, kMostAmount);
  charge.tokens = std::clamp<int64_t>(charge.tokens, 0, kMostAmount);
  charge.money = std::clamp<int64_t>(charge.money, 0, kMostAmount);
  ChargeAnswer answer;
  const Status done = Do([&](int64_t now, Found* found) { answer = charges_.Run(charge, now, found); });
  if (done.ok()) return answer;
  return {.code = QuotaCode::kStoreUnavailable, .problem = CountFailure(done)};
}

SettlementAnswer SqliteQuotaStore::Run(const Settlement& settlement) {
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return {.code = SettlementAnswer::Code::kUnknown};
  SettlementAnswer answer;
  const Status done = Do([&](int64_t now, Found* found) { answer = charges_.Settle(*id, settlement, now, found); });
  if (done.ok()) return answer;
  return {.code = SettlementAnswer::Code::kStoreUnavailable, .model = id->model, .problem = CountFailure(done)};
}

Status SqliteQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota)
    if (Status status = CheckQuota(model, *quota); !status.ok()) return status;
  return Do([&](int64_t, Found*) { content_.SetQuota(model, quota, false); });
}

Status SqliteQuotaStore::StateQuota(std::string_view model, const ModelQuota& quota) {
  if (Status status = CheckQuota(model, quota); !status.ok()) return status;
  return Do([&](int64_t, Found*) { content_.SetQuota(model, quota, true); });
}

Result<std::vector<std::string>> SqliteQuotaStore::StatedByConfiguration() {
  return Ask<std::vector<std::string>>([&](int64_t, Found*) { return content_.StatedByConfiguration(); });
}

Status SqliteQuotaStore::Reset(std::string_view model) {
  return Do([&](int64_t now, Found*) { model.empty() ? content_.ResetAll() : content_.Reset(model, now); });
}

Result<std::vector<std::string>> SqliteQuotaStore::Models() {
  return Ask<std::vector<std::string>>(
      [&](int64_t now, Found* found) { return content_.Models(now, &found->expired); });
}

Result<QuotaState> SqliteQuotaStore::Export() {
  return Ask<QuotaState>([&](int64_t now, Found* found) { return content_.Export(now, &found->expired); });
}

Status SqliteQuotaStore::Import(const QuotaState& state) {
  for (const auto& [model, saved] : state) {
    if (!saved.quota) continue;
    if (Status status = CheckQuota(model, *saved.quota); !status.ok()) return status;
  }
  return Do([&](int64_t now, Found*) { content_.Import(state, now); });
}

// Prunes a part of the file. Sets `tiers_done` and `models_done` to whether that was the last part of the tiers and of
// the models. Skips the one that is true already.
Status SqliteQuotaStore::PrunePart(bool* tiers_done, bool* models_done) {
  const auto prune = [&](int64_t now, Found* found) {
    if (cannot_write_) database_->Execute("UPDATE weir_counts SET models = models");  // tests if it can write again
    models_.meters.LookAtSize(max_file_bytes_);
    if (!*tiers_done) *tiers_done = sweep_.Tiers(now);
    if (!*models_done) *models_done = sweep_.Models(now, &found->expired);
  };
  return Do(prune, std::min(kShortPatience, busy_timeout_), false);
}

void SqliteQuotaStore::Prune() {
  // Health reports a failure, unless the file was only locked. The next call for a model also deletes what no longer
  // counts for that model.
  const auto end = Steady::now() + kPruneFor;
  bool tiers_done = false;
  bool models_done = false;
  while (PrunePart(&tiers_done, &models_done).ok() && !(tiers_done && models_done) && Steady::now() < end) {
  }
}

StoreHealth SqliteQuotaStore::Health() const {
  const MutexLock lock(health_mutex_);
  StoreHealth health = health_;
  if (health.warning.empty() && LostNamesOfLate(name_lost_, clock_)) health.warning = kNamesLostWarning;
  if (health.breaker == StoreHealth::Breaker::kOpen && Steady::now() >= locked_until_)
    health.breaker = StoreHealth::Breaker::kHalfOpen;
  if (health.problem.empty() && busy_since_ && Steady::now() - *busy_since_ >= kLongWait)
    health.problem = database_->path() + ": " + kWaits;
  return health;
}

}  // namespace

Result<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(const std::string& path, SqliteStoreOptions options,
                                                         const WallClock& clock) {
  Result<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open(path, options.busy_timeout, options.must_exist);
  if (!database.ok()) return database.status();
  Status prepared = PrepareSqliteSchema(*database.value(), options.busy_timeout, SqliteNs(clock.Now()));
  if (!prepared.ok()) return prepared;
  SqliteDatabase& opened = *database.value();
  std::unique_ptr<QuotaStore> store = std::make_unique<SqliteQuotaStore>(std::move(database).value(), options, clock);
  if (!opened.ok()) return Status::Error(opened.problem());
  return store;
}

}  // namespace weir
