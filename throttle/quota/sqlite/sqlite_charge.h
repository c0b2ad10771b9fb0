// Charges and settlements, each within a transaction. Private to the store.
#pragma once

#include <optional>
#include <string>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_model.h"
#include "throttle/quota/sqlite/sqlite_sweep.h"

namespace weir {

struct SqliteBounds {
  size_t models = 0;
  size_t tiers = 0;
};

class SqliteCharges {
 public:
  SqliteCharges(SqliteDatabase& database, SqliteModels& models, SqliteSweep& sweep, SqliteBounds bounds);

  // Findings of the calls of this process.
  struct Found {
    uint64_t expired = 0;  // expired reservations
    uint64_t dropped = 0;  // forced usage for which there was no room
    double fullness = -1;  // share of the room for names that is taken; -1 if none was needed
  };
  ChargeAnswer Run(const Charge& charge, int64_t now, Found* found);
  SettlementAnswer Settle(std::string_view model, const Settlement& settlement, int64_t now, Found* found);

 private:
  // Room for the names that a charge adds.
  struct Room {
    bool model = true;
    size_t tiers = 0;
    bool for_all = true;
    double fullness = -1;
  };
  Room FindRoom(const Charge& charge, bool has_quota, const SqliteModel& model, const SqliteTierMeters& tiers);
  bool MakeRoom(int64_t now, uint64_t* expired);
  SqliteTierMeters LoadTiers(const Charge& charge, int64_t now);
  void Save(SqliteModel* model, SqliteTierMeters* tiers);
  // Returns how many counts were left out.
  uint64_t Enter(const Charge& charge, int64_t now, const Room& room, SqliteModel* model, SqliteTierMeters* tiers,
                 ChargeAnswer* answer);
  static void TellUsage(const SqliteModel& model, const SqliteTierMeters& tiers, ChargeAnswer* answer);
  // Finds a reservation that may be asked for again (Charge::token).
  bool FindMade(const std::string& id, int64_t now, ChargeAnswer* answer);
  void SettleOpen(SqliteModel* model, const SqliteReservation& held, const Settlement& settlement, int64_t now,
                  SettlementAnswer* answer);
  void SettleEnded(SqliteModel* model, const SqliteEnded& ended, const Settlement& settlement, int64_t now,
                   SettlementAnswer* answer);
  void EndAs(const SqliteModel& model, std::string_view id, SqliteEnded ended, int64_t now,
             const SettlementAnswer& answer);
  size_t Free(SqliteQuery& count, size_t bound);

  SqliteModels& models_;
  SqliteSweep& sweep_;
  const SqliteBounds bounds_;
  SqliteQuery count_models_;
  SqliteQuery count_tiers_;
  std::optional<int64_t> room_made_;  // when room was last looked for
};

}  // namespace weir
