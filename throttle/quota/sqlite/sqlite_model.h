// The rows of one model within a transaction: its counts, its day, its reservations. Private to the store.
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

struct SqliteModel {
  // The columns of weir_models; those of the day are brought up to date by Save.
  struct Row {
    bool known = false;    // the model has a row
    bool bounded = false;  // it was new without a quota, so its name takes room
    int64_t seen = 0;      // latest time at which a reservation was made
    int64_t open = 0;
    int64_t day_start = 0;
    int64_t day_count = 0;
    int64_t day = 0;  // number of the day
    bool operator==(const Row&) const = default;
  };

  SqliteModel(std::string_view named, int64_t now);

  bool unused() const { return row.open == 0 && day.count() == 0 && requests.empty() && tokens.empty(); }
  ModelUsage usage() const;

  std::string_view name;            // must outlive it
  std::optional<ModelQuota> quota;  // stated
  SqliteMeter requests;
  SqliteMeter tokens;
  DayCount day;
  Row row;
  Row stored;
};

// Reads max_rpm, max_tpm and max_rpd, of which `column` is the first; empty if they are NULL. Makes the database refuse
// a value below 0, because cut to 0 it would be no limit.
std::optional<ModelQuota> ReadSqliteQuota(SqliteDatabase& database, std::string_view model, const SqliteRows& row,
                                          int column);

struct SqliteReservation {
  struct Part {
    int64_t meter = 0;
    int64_t entry = 0;
  };

  std::string id;
  int64_t ts = 0;
  int64_t deadline = 0;
  bool named = false;  // may be asked for again (Charge::token)
  Amounts charged;     // calls: 1, in every meter of calls in which it has a part
  Amounts used;        // reported so far: tokens and money; use beyond `charged` is charged too
  int64_t request_entry = 0;
  int64_t token_entry = 0;
  int64_t day = 0;
  std::vector<Part> tiers;
};

struct SqliteEnded {
  HoldEnd end;
  bool named = false;
  int64_t requests = 0;
  int64_t tokens = 0;
  Amounts used;                                // if it expired: reported use, which stays charged
  std::vector<SqliteReservation::Part> tiers;  // if it expired: pinned
  int64_t kept_until = 0;
};

class SqliteModels {
 public:
  // `max_named_ended`: so many named reservations of a model are remembered after their end.
  SqliteModels(SqliteDatabase& database, size_t max_named_ended);

  // Loads a model as of `now`: what has left is gone, reservations past their deadline are given back,
  // kMostExpiredAtOnce at most, and what lies in the future counts as of now. Adds the number of these reservations to
  // `expired`. Call Save after it.
  SqliteModel Load(std::string_view model, int64_t now, uint64_t* expired);
  void Save(SqliteModel* model);
  void Drop(std::string_view model);  // must be unused
  // Gives back what is due of all models. No model may be loaded meanwhile.
  void ExpireDue(int64_t now, uint64_t* expired);
  // Gives back what its reservations hold of counts for all models, and unpins these counts. Its own meters are gone.
  void ForgetReservations(std::string_view model, int64_t now);

  void Hold(SqliteModel* model, const SqliteReservation& reservation);
  std::optional<SqliteReservation> Find(std::string_view id);
  void Extend(std::string_view id, int64_t deadline) { extend_.Run(id, deadline); }
  void NoteUse(std::string_view id, const Amounts& used) { note_use_.Run(id, used.tokens, used.money); }
  // Only for a reservation whose deadline has come.
  void Expire(SqliteModel* model, const SqliteReservation& reservation, int64_t now);
  void Forget(SqliteModel* model, std::string_view id);
  std::optional<SqliteEnded> FindEnded(std::string_view id, int64_t now);
  // Replaces what was recorded of it before.
  void End(std::string_view model, std::string_view id, const SqliteEnded& ended);
  void ForgetEnded(std::string_view model, int64_t now);
  // Returns true, once, if a named one was forgotten before its time was over.
  bool TakeNameLost() { return std::exchange(name_lost_, false); }
  // Only for a reservation that is made anew.
  void ForgetEnd(std::string_view id) { forget_ended_.Run(id); }

  // Takes back what still counts.
  void GiveBack(SqliteModel* model, const SqliteReservation& reservation, const Amounts& amounts, int64_t now);
  // Charges whatever the limits, also in these tiers.
  void EnterMore(SqliteModel* model, const std::vector<SqliteReservation::Part>& tiers, const Amounts& amounts,
                 int64_t now);
  // Unpins the meters of a reservation that is done with them.
  void LetGo(const std::vector<SqliteReservation::Part>& tiers, int64_t now);

  SqliteMeters meters;

 private:
  std::vector<SqliteReservation> Due(std::string_view model, int64_t by);
  void ExpireReservations(SqliteModel* model, int64_t now, uint64_t* expired);
  void ForgetEnded(std::string_view model, bool named, int64_t count, int64_t most, int64_t now);
  // Changes each meter that is still there.
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
