// SqliteCharges: decides charges, and settles reservations, in a SQLite quota file. The caller must have begun a
// transaction before it calls Run or Settle. Private to the SQLite store.
#pragma once

#include <optional>
#include <string>

#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/reservation_id.h"
#include "throttle/limits/quota/sqlite/sqlite_model.h"
#include "throttle/limits/quota/sqlite/sqlite_sweep.h"

namespace weir {

// The most names (counters) that a file may have.
struct SqliteBounds {
  size_t models = 0;  // models without a quota
  size_t tiers = 0;   // counters of tiers
};

class SqliteCharges {
 public:
  SqliteCharges(SqliteDatabase& database, SqliteModels& models, SqliteSweep& sweep, SqliteBounds bounds);

  // Results for the statistics. Run and Settle add to the integers; Run sets `fullness`.
  struct Found {
    uint64_t expired = 0;  // reservations that were found expired
    uint64_t dropped = 0;  // parts of forced charges that had no room
    double fullness = -1;  // the share of the room for names that is in use; -1 if the call needed none
  };
  // `now` is the time in nanoseconds since 1970, here and below. If the database fails (SqliteDatabase::ok), the caller
  // must not use the answer.
  ChargeAnswer Run(const Charge& charge, int64_t now, Found* found);
  SettlementAnswer Settle(const ReservationId& id, const Settlement& settlement, int64_t now, Found* found);

 private:
  // The room in the file for the names that a charge adds.
  struct Room {
    bool model = true;     // room for the model, and for one more reservation of it
    size_t tiers = 0;      // the number of tier counters that can be added
    bool for_all = true;   // room for all that the charge needs
    double fullness = -1;  // see Found::fullness
  };
  Room FindRoom(const Charge& charge, bool has_quota, const SqliteModel& model, const SqliteTierMeters& tiers);
  bool MakeRoom(int64_t now, uint64_t* expired);
  SqliteTierMeters LoadTiers(const Charge& charge, int64_t now);
  void Save(SqliteModel* model, SqliteTierMeters* tiers);
  // Charges the parts of the charge for which there is room. Returns the number of counters that it left out.
  uint64_t Enter(const Charge& charge, int64_t now, const Room& room, SqliteModel* model, SqliteTierMeters* tiers,
                 ChargeAnswer* answer);
  static void TellUsage(const SqliteModel& model, const SqliteTierMeters& tiers, ChargeAnswer* answer);
  // Returns true, and fills `answer`, if the reservation was made before (Charge::token).
  bool FindMade(const Charge& charge, int64_t now, ChargeAnswer* answer);
  void SettleOpen(SqliteModel* model, const SqliteReservation& held, const Settlement& settlement, int64_t now,
                  SettlementAnswer* answer);
  void SettleEnded(SqliteModel* model, const SqliteEnded& ended, const Settlement& settlement, int64_t now,
                   SettlementAnswer* answer);
  void EndAs(const SqliteModel& model, SqliteEnded ended, int64_t now, const SettlementAnswer& answer);
  size_t Free(SqliteQuery& count, size_t bound);

  SqliteModels& models_;
  SqliteSweep& sweep_;
  const SqliteBounds bounds_;
  SqliteQuery count_models_;
  SqliteQuery count_tiers_;
  std::optional<int64_t> room_made_;  // the time of the last search for room
};

}  // namespace weir
