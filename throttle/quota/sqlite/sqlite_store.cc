#include "throttle/quota/sqlite/sqlite_store.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
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
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Found = SqliteCharges::Found;

// While somebody else keeps the file locked.
constexpr milliseconds kBreakerPause{1000};
constexpr milliseconds kShortPatience{100};
// Of a Prune; in between the others have their turn.
constexpr milliseconds kPruneFor{200};

// The file is one caller's at a time. Not a std::timed_mutex, whose wait by the steady clock the thread sanitizer does
// not see.
class FileTurn {
 public:
  class Hold {
   public:
    Hold(FileTurn& turn, Steady::time_point until) : turn_(turn) {
      std::unique_lock lock(turn_.mutex_);
      has_ = turn_.is_free_.wait_until(lock, until, [this] { return !turn_.taken_; });
      if (has_) turn_.taken_ = true;
    }
    ~Hold() {
      if (!has_) return;
      const std::lock_guard lock(turn_.mutex_);
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
  std::mutex mutex_;
  std::condition_variable is_free_;
  bool taken_ = false;
};

}  // namespace

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
    const auto begin = Steady::now();
    const milliseconds patience = Patience(begin);
    const FileTurn::Hold hold(turn, begin + patience);
    if (!hold.has()) return Fail(BusyProblem(patience), true);
    const auto left = std::chrono::duration_cast<milliseconds>(begin + patience - Steady::now());
    database->SetPatience(std::max(left, milliseconds(0)), patience);
    SqliteTransaction transaction(*database);
    Found found;
    if (database->ok()) work(Now(), &found);
    if (!transaction.Commit()) return Fail(database->problem(), database->was_busy());
    const std::lock_guard health_lock(health_mutex);
    health.problem.clear();
    health.breaker = StoreHealth::Breaker::kClosed;
    health.expired_reservations += found.expired;
    health.dropped_entries += found.dropped;
    return {};
  }
  milliseconds Patience(Steady::time_point now) {
    const std::lock_guard lock(health_mutex);
    const bool locked = health.breaker != StoreHealth::Breaker::kClosed && now < locked_until;
    return locked ? std::min(kShortPatience, options.busy_timeout) : options.busy_timeout;
  }
  std::string BusyProblem(milliseconds patience) const {
    return database->path() + ": the calls before this one have kept it busy for " + std::to_string(patience.count()) +
           " ms; see whether another process keeps the file locked";
  }
  Status Fail(const std::string& problem, bool busy) {
    const std::lock_guard lock(health_mutex);
    health.problem = problem;
    if (busy) {
      health.breaker = StoreHealth::Breaker::kOpen;
      locked_until = Steady::now() + kBreakerPause;
    }
    return Status::Error(problem);
  }
  // A part of the file: whether that was the last of its tiers, and of its models, of which some may be done already.
  Status PrunePart(bool* tiers_done, bool* models_done) {
    return Do([&](int64_t now, Found* found) {
      if (!*tiers_done) *tiers_done = sweep.Tiers(now);
      if (!*models_done) *models_done = sweep.Models(now, &found->expired);
    });
  }
  void CountFailure() {
    const std::lock_guard lock(health_mutex);
    ++health.failures;
  }

  const SqliteStoreOptions options;
  const WallClock& clock;

  FileTurn turn;  // of all that follows
  std::unique_ptr<SqliteDatabase> database;
  SqliteModels models;
  SqliteSweep sweep;
  SqliteCharges charges;
  SqliteContent content;

  // Apart, so that nobody who asks how it is has to wait for the file.
  mutable std::mutex health_mutex;
  StoreHealth health;
  Steady::time_point locked_until;
};

Result<std::unique_ptr<SqliteQuotaStore>> SqliteQuotaStore::Open(const std::string& path, SqliteStoreOptions options,
                                                                 const WallClock& clock) {
  Result<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open(path, options.busy_timeout, options.must_exist);
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
  const Status done = rep_->Do([&](int64_t now, Found* found) { answer = rep_->charges.Run(charge, now, found); });
  if (done.ok()) return answer;
  rep_->CountFailure();
  return {.code = QuotaCode::kStoreUnavailable, .problem = done.message()};
}

SettlementAnswer SqliteQuotaStore::Run(const Settlement& settlement) {
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return {.code = SettlementAnswer::Code::kUnknown};
  SettlementAnswer answer;
  const Status done =
      rep_->Do([&](int64_t now, Found* found) { answer = rep_->charges.Settle(id->model, settlement, now, found); });
  if (done.ok()) return answer;
  rep_->CountFailure();
  return {.code = SettlementAnswer::Code::kStoreUnavailable, .model = id->model, .problem = done.message()};
}

Status SqliteQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota)
    if (Status status = CheckQuota(model, *quota); !status.ok()) return status;
  return rep_->Do([&](int64_t, Found*) { rep_->content.SetQuota(model, quota); });
}

Status SqliteQuotaStore::Reset(std::string_view model) {
  return rep_->Do([&](int64_t, Found*) {
    if (model.empty()) {
      rep_->content.ResetAll();
    } else {
      rep_->content.Reset(model);
    }
  });
}

Result<std::vector<std::string>> SqliteQuotaStore::Models() {
  std::vector<std::string> models;
  const Status done = rep_->Do([&](int64_t now, Found* found) { models = rep_->content.Models(now, &found->expired); });
  if (!done.ok()) return done;
  return models;
}

Result<QuotaState> SqliteQuotaStore::Export() {
  QuotaState state;
  const Status done = rep_->Do([&](int64_t now, Found* found) { state = rep_->content.Export(now, &found->expired); });
  if (!done.ok()) return done;
  return state;
}

Status SqliteQuotaStore::Import(const QuotaState& state) {
  for (const auto& [model, saved] : state) {
    if (!saved.quota) continue;
    if (Status status = CheckQuota(model, *saved.quota); !status.ok()) return status;
  }
  return rep_->Do([&](int64_t now, Found*) { rep_->content.Import(state, now); });
}

void SqliteQuotaStore::Prune() {
  // A failure is in Health; the next call on a model forgets as well.
  const auto end = Steady::now() + kPruneFor;
  bool tiers_done = false;
  bool models_done = false;
  while (rep_->PrunePart(&tiers_done, &models_done).ok() && !(tiers_done && models_done) && Steady::now() < end) {
  }
}

StoreHealth SqliteQuotaStore::Health() const {
  const std::lock_guard lock(rep_->health_mutex);
  StoreHealth health = rep_->health;
  if (health.breaker == StoreHealth::Breaker::kOpen && Steady::now() >= rep_->locked_until)
    health.breaker = StoreHealth::Breaker::kHalfOpen;
  return health;
}

}  // namespace weir
