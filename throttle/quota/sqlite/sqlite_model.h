// SqliteModels: reads and writes the rows of a model in a SQLite quota file: its counters, its day, and its
// reservations. Each function runs within a transaction that the caller has begun. Times are nanoseconds since 1970.
// Private to the SQLite store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "throttle/quota/ended_holds.h"
#include "throttle/quota/meter.h"
#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_database.h"
#include "throttle/quota/sqlite/sqlite_meter.h"

namespace weir {

// A model, as the transaction has read it.
struct SqliteModel {
  // The columns of weir_models. Save brings those of the day up to date.
  struct Row {
    bool known = false;    // whether the model has a row
    bool bounded = false;  // the model was new without a quota, so it takes one of the places for models
    int64_t seen = 0;      // latest time at which a reservation was made
    int64_t open = 0;      // open reservations
    int64_t day_start = 0;
    int64_t day_count = 0;
    int64_t day = 0;  // number of the day
    bool operator==(const Row&) const = default;
  };

  SqliteModel(std::string_view named, int64_t now);

  // Returns true if nothing counts, except perhaps for tiers.
  bool unused() const { return row.open == 0 && day.count() == 0 && requests.empty() && tokens.empty(); }
  ModelUsage usage() const;

  std::string_view name;            // must outlive this object
  std::optional<ModelQuota> quota;  // the stated quota; empty: none
  SqliteMeter requests;
  SqliteMeter tokens;
  DayCount day;
  Row row;
  Row stored;  // the columns as they are in the file
};

// Reads max_rpm, max_tpm and max_rpd from three columns, of which `column` is the first. Returns nothing if that is
// NULL. A value below 0 makes the database fail (SqliteDatabase::Refuse), because it would be cut down to 0, which
// means no limit.
std::optional<ModelQuota> ReadSqliteQuota(SqliteDatabase& database, std::string_view model, const SqliteRows& row,
                                          int column);

// An open reservation.
struct SqliteReservation {
  struct Part {
    int64_t meter = 0;  // id of a counter (SqliteMeter)
    int64_t entry = 0;  // number of the entry in it; 0: none
  };

  std::string id;
  int64_t ts = 0;  // when it was made
  int64_t deadline = 0;
  bool named = false;  // a caller may ask for it again (Charge::token)
  Amounts charged;     // calls: 1, in every meter of calls in which it has a part
  Amounts used;        // tokens and money reported before its end; use beyond `charged` is charged too
  int64_t request_entry = 0;
  int64_t token_entry = 0;
  int64_t day = 0;  // number of the day (DayCount)
  std::vector<Part> tiers;
};

// A reservation that has ended, for as long as its end is remembered.
struct SqliteEnded {
  HoldEnd end;
  bool named = false;
  int64_t requests = 0;  // if it expired: the requests that were released, which a late commit charges
  int64_t tokens = 0;    // tokens that it had reserved
  Amounts used;          // if it expired: the reported use, which stays charged
  std::vector<SqliteReservation::Part> tiers;  // if it expired: its counters, which are pinned
  int64_t kept_until = 0;
};

class SqliteModels {
 public:
  // `max_named_ended`: the most ends of named reservations that are remembered for a model.
  SqliteModels(SqliteDatabase& database, size_t max_named_ended);

  // Loads a model as of `now`. Entries that have left the window by then are deleted, and times in the future count as
  // now. Reservations whose deadline has come expire, at most kMostExpiredAtOnce of them; their number is added to
  // `expired`. Call Save afterwards.
  SqliteModel Load(std::string_view model, int64_t now, uint64_t* expired);
  void Save(SqliteModel* model);
  // Deletes the rows of a model, which must be unused().
  void Drop(std::string_view model);
  // Expires reservations of all models whose deadline has come: about kMostExpiredAtOnce at most. The caller must not
  // have a loaded SqliteModel at that time, because its row may change.
  void ExpireDue(int64_t now, uint64_t* expired);
  // Releases what the model's reservations hold in counters for all models, and unpins these counters. For a reset: the
  // model's own counters must have been deleted before.
  void ForgetReservations(std::string_view model, int64_t now);

  // Hold records a reservation that was just charged. Find returns an open one; nothing if there is none with this id.
  void Hold(SqliteModel* model, const SqliteReservation& reservation);
  std::optional<SqliteReservation> Find(std::string_view id);
  void Extend(std::string_view id, int64_t deadline) { extend_.Run(id, deadline); }
  void NoteUse(std::string_view id, const Amounts& used) { note_use_.Run(id, used.tokens, used.money); }
  // Releases what a reservation holds and records that it expired. Only for a reservation whose deadline has come.
  void Expire(SqliteModel* model, const SqliteReservation& reservation, int64_t now);
  // Deletes an open reservation; releases nothing.
  void Forget(SqliteModel* model, std::string_view id);
  // Returns how a reservation ended; nothing if that is unknown, or if its time is over.
  std::optional<SqliteEnded> FindEnded(std::string_view id, int64_t now);
  // Records how a reservation ended. Replaces what was recorded for this id before.
  void End(std::string_view model, std::string_view id, const SqliteEnded& ended);
  // Forgets the ends whose time is over, and those beyond the bounds, and unpins their counters.
  void ForgetEnded(std::string_view model, int64_t now);
  // Returns true if, since the last call, the end of a named reservation was forgotten before its time was over.
  bool TakeNameLost() { return std::exchange(name_lost_, false); }
  // Deletes the end of a reservation that is made anew under the same id.
  void ForgetEnd(std::string_view id) { forget_ended_.Run(id); }

  // Takes `amounts` back from the reservation's counters, as far as they still count.
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
  // Calls `change` for each counter that still exists, and saves the counter.
  void ChangeMeters(const std::vector<SqliteReservation::Part>& parts, int64_t now, auto change);

  SqliteDatabase& database_;
  const int64_t max_named_ended_;
  bool name_lost_ = false;
  SqliteQuery load_;
  SqliteQuery save_;
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
