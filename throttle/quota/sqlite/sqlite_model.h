// The rows of one model within a transaction: its two logs, its day, its reservations. Private to the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_database.h"
#include "throttle/quota/sqlite/sqlite_log.h"
#include "throttle/quota/sqlite/sqlite_tier.h"

namespace weir {

struct SqliteModel {
  bool known = false;               // it has a row
  std::optional<ModelQuota> quota;  // stated
  SqliteLogState requests;
  SqliteLogState tokens;
  int64_t seen = 0;
  int64_t open = 0;
  int64_t day_start = 0;
  int64_t day_count = 0;
  int64_t day = 0;  // its number

  ModelUsage usage() const;
};

// Of the columns max_rpm, max_tpm and max_rpd, the first of them given; nothing where they are NULL. Below 0: the
// database refuses it, for cut to 0 it would be no limit.
std::optional<ModelQuota> ReadSqliteQuota(SqliteDatabase& database, std::string_view model, const SqliteRows& row,
                                          int column);

struct SqliteReservation {
  struct Part {
    int64_t tier = 0;
    int64_t entry = 0;
  };

  std::string id;
  int64_t ts = 0;
  int64_t deadline = 0;
  int64_t requests = 0;
  int64_t tokens = 0;
  int64_t request_entry = 0;
  int64_t token_entry = 0;
  int64_t day = 0;
  std::vector<Part> tiers;
};

class SqliteModels {
 public:
  explicit SqliteModels(SqliteDatabase& database);

  // As of `now`: what has left is gone, reservations whose time is up are given back, kMostExpiredAtOnce at most, and
  // what lies in the future counts as of now. `expired` is raised by the reservations that were.
  SqliteModel Load(std::string_view model, int64_t now, uint64_t* expired);
  // A row for a model that has none and no quota: its name takes room.
  void BeginBounded(std::string_view model, int64_t now) { begin_bounded_.Run(model, now); }
  void CountDay(std::string_view model, int64_t now, int64_t requests, SqliteModel* state);
  void Hold(std::string_view model, const SqliteReservation& reservation);
  std::optional<SqliteReservation> Find(std::string_view id);
  // Takes back where it still counts, `state` being the model's, and lets go of the tiers.
  void GiveBack(std::string_view model, const SqliteReservation& reservation, int64_t requests, int64_t tokens,
                int64_t now, SqliteModel* state);
  void Forget(std::string_view model, std::string_view id);
  // Deletes the row of a model of which nothing counts.
  void DropIfUnused(std::string_view model, const SqliteModel& state);

  SqliteLog requests;
  SqliteLog tokens;
  SqliteTiers tiers;

 private:
  SqliteModel Read(std::string_view model);
  void StepBack(std::string_view model, int64_t now);
  void ExpireReservations(std::string_view model, int64_t now, SqliteModel* state, uint64_t* expired);
  void SetDay(std::string_view model, const SqliteModel& state);

  SqliteDatabase& database_;
  SqliteQuery load_;
  SqliteQuery seen_;
  SqliteQuery set_day_;
  SqliteQuery end_day_;
  SqliteQuery hold_;
  SqliteQuery open_;
  SqliteQuery find_;
  SqliteQuery due_;
  SqliteQuery step_back_;
  SqliteQuery begin_bounded_;
  SqliteQuery forget_;
  SqliteQuery close_;
  SqliteQuery drop_;
};

}  // namespace weir
