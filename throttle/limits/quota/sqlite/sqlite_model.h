// SqliteModels: reads and writes the rows of a model in a SQLite quota file: its counters, its day, and its
// reservations. The caller must have begun a transaction before it calls a function. Times are in nanoseconds since
// 1970. Private to the SQLite store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "throttle/limits/quota/ended_holds.h"
#include "throttle/limits/quota/meter.h"
#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/reservation_id.h"
#include "throttle/limits/quota/sqlite/sqlite_database.h"
#include "throttle/limits/quota/sqlite/sqlite_meter.h"

namespace weir {

// A model, as the transaction has read it.
struct SqliteModel {
  // The columns of weir_models. SqliteModels::Save sets day_start, day_count and day from SqliteModel::day.
  struct Row {
    bool known = false;  // whether the model has a row
    // True if the model had no quota when its row was made, and has got none since, neither in the file nor from a
    // charge. It counts towards the bound on models without a quota. Save writes it only with a new row.
    bool bounded = false;
    int64_t seen = 0;  // the latest time at which a reservation was made
    int64_t open = 0;  // the number of open reservations
    int64_t day_start = 0;
    int64_t day_count = 0;
    int64_t day = 0;  // the number of the day (DayCount)
    bool operator==(const Row&) const = default;
  };

  SqliteModel(std::string_view named, int64_t now);

  // Returns true if the model's own counters are 0 and it has no open reservation. Its tiers may still count something.
  bool unused() const { return row.open == 0 && day.count() == 0 && requests.empty() && tokens.empty(); }
  ModelUsage usage() const;

  std::string_view name;            // must outlive this object
  std::optional<ModelQuota> quota;  // the model's quota in the file, whichever call wrote it; empty: none
  SqliteMeter requests;
  SqliteMeter tokens;
  DayCount day;
  Row row;
  Row stored;  // the columns as they are in the file
};

// Reads max_rpm, max_tpm and max_rpd from three columns, of which `column` is the first. Returns nothing if the first
// is NULL. 0 means no limit. A value below 0 is an error (SqliteDatabase::Refuse); otherwise it would silently mean no
// limit, too.
std::optional<ModelQuota> ReadSqliteQuota(SqliteDatabase& database, std::string_view model, const SqliteRows& row,
                                          int column);

// An open reservation.
struct SqliteReservation {
  struct Part {
    int64_t meter = 0;  // the id of a counter (SqliteMeter)
    int64_t entry = 0;  // the number of the reservation's entry in it; 0: none
  };

  std::string id;
  int64_t ts = 0;  // when it was made
  int64_t deadline = 0;
  bool named = false;  // a caller may ask for it again (Charge::token)
  Amounts charged;     // `calls` is 1 in a reservation read from the file; only counters of calls use it
  Amounts used;        // tokens and money reported before its end; use beyond `charged` is charged too
  int64_t request_entry = 0;
  int64_t token_entry = 0;
  int64_t day = 0;  // number of the day (DayCount)
  std::vector<Part> tiers;
};

// A reservation that has ended, as long as its end is remembered.
struct SqliteEnded {
  std::string id;
  HoldEnd end;
  bool named = false;
  int64_t requests = 0;  // only if it expired: the requests that were released, which a late commit charges
  int64_t tokens = 0;    // the tokens that it had reserved
  Amounts used;          // only if it expired: the reported use, which stays charged
  std::vector<SqliteReservation::Part> tiers;  // only if it expired: its counters, which are pinned
  int64_t kept_until = 0;
};

class SqliteModels {
 public:
  // For each model, the ends of at most `max_named_ended` named reservations are remembered.
  SqliteModels(SqliteDatabase& database, size_t max_named_ended);

  // Loads a model as of `now`. Deletes entries that have left the window by then, and changes times in the future to
  // `now`. Expires reservations whose deadline has come, at most kMostExpiredAtOnce of them, and adds their number to
  // `expired`. The caller must call Save afterwards.
  SqliteModel Load(std::string_view model, int64_t now, uint64_t* expired);
  void Save(SqliteModel* model);
  // Frees the max_models place of a model, if it has one, because a model with a quota needs none. The caller must also
  // set SqliteModel::Row::bounded of a loaded model to false.
  void GiveUpPlace(std::string_view model) { give_up_.Run(model); }
  // Deletes the rows of a model. REQUIRES: the model is unused().
  void Drop(std::string_view model);
  // Expires reservations of all models if their deadline has come, at most about kMostExpiredAtOnce of them. REQUIRES:
  // the caller has no loaded SqliteModel, because the row of the model may change.
  void ExpireDue(int64_t now, uint64_t* expired);
  // Releases what the model's reservations have charged to counters that it shares with other models, and unpins these
  // counters. A reset calls it. REQUIRES: the model's own counters have been deleted.
  void ForgetReservations(std::string_view model, int64_t now);

  // Hold records a reservation that the caller has just charged. Find returns the open reservation with this
  // token, whatever its round is (ReservationId), or nothing if there is none.
  void Hold(SqliteModel* model, const SqliteReservation& reservation);
  std::optional<SqliteReservation> Find(const ReservationToken& token, std::string_view model);
  void Extend(std::string_view id, int64_t deadline) { extend_.Run(id, deadline); }
  void NoteUse(std::string_view id, const Amounts& used) { note_use_.Run(id, used.tokens, used.money); }
  // Releases what a reservation has charged, and records that it expired. REQUIRES: the deadline of the reservation has
  // come.
  void Expire(SqliteModel* model, const SqliteReservation& reservation, int64_t now);
  // Deletes an open reservation. Releases nothing.
  void Forget(SqliteModel* model, std::string_view id);
  // Returns how the reservation with this token ended, whatever its round is, or nothing if that is unknown or may be
  // forgotten at `now`.
  std::optional<SqliteEnded> FindEnded(const ReservationToken& token, std::string_view model, int64_t now);
  // Records how a reservation ended. Replaces the end that was recorded for this id before, if any.
  void End(std::string_view model, const SqliteEnded& ended);
  // Forgets the ends that may be forgotten at `now`, and those beyond the bounds, and unpins their counters.
  void ForgetEnded(std::string_view model, int64_t now);
  // Returns true if the end of a named reservation was forgotten too early (quota_store.h) since the last call.
  bool TakeNameLost() { return std::exchange(name_lost_, false); }
  // Deletes the end of a reservation, because a new reservation has the same token.
  void ForgetEnd(std::string_view id) { forget_ended_.Run(id); }

  // Subtracts `amounts` from the reservation's counters, except what no longer counts there (because it has left the
  // window, for example).
  void GiveBack(SqliteModel* model, const SqliteReservation& reservation, const Amounts& amounts, int64_t now);
  // Adds `amounts` to the model's own counters and to those of `tiers`, whatever the limits. Amounts below 0 count as
  // 0.
  void EnterMore(SqliteModel* model, const std::vector<SqliteReservation::Part>& tiers, const Amounts& amounts,
                 int64_t now);
  // Unpins the counters of a reservation that no longer needs them.
  void LetGo(const std::vector<SqliteReservation::Part>& tiers, int64_t now);

  SqliteMeters meters;

 private:
  std::vector<SqliteReservation> Due(std::string_view model, int64_t by);
  void ExpireReservations(SqliteModel* model, int64_t now, uint64_t* expired);
  void ForgetEnded(std::string_view model, bool named, int64_t count, int64_t most, int64_t now);
  // Calls `change` for each of these counters that still exists, and saves the counter.
  void ChangeMeters(const std::vector<SqliteReservation::Part>& parts, int64_t now, auto change);

  SqliteDatabase& database_;
  const int64_t max_named_ended_;
  bool name_lost_ = false;
  SqliteQuery load_;
  SqliteQuery save_;
  SqliteQuery give_up_;
  SqliteQuery drop_;
  SqliteQuery drop_meters_;
  SqliteQuery hold_;
  SqliteQuery find_;
  SqliteQuery due_;
  SqliteQuery next_due_;
  SqliteQuery step_back_;
  SqliteQuery forget_;
  SqliteQuery extend_;
  SqliteQuery note_use_;
  SqliteQuery find_ended_;
  SqliteQuery count_ended_;
  SqliteQuery next_ended_;
  SqliteQuery pinning_;
  SqliteQuery end_;
  SqliteQuery forget_ended_;
};

}  // namespace weir
