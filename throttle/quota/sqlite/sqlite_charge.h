// Charges and settlements, each within a transaction. Private to the store.
#pragma once

#include <vector>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_judge.h"
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

  ChargeAnswer Run(const Charge& charge, int64_t now, uint64_t* expired);
  SettlementAnswer Settle(std::string_view model, const Settlement& settlement, int64_t now, uint64_t* expired);

 private:
  // What of the names that a charge adds there is room for.
  struct Room {
    bool model = true;
    size_t tiers = 0;
    bool for_all = true;
  };
  Room FindRoom(const Charge& charge, const SqliteModel& model, const std::vector<SqliteTier>& tiers, int64_t now,
                uint64_t* expired);
  void Enter(const Charge& charge, int64_t now, const Room& room, SqliteModel* model, std::vector<SqliteTier>* tiers,
             ChargeAnswer* answer);
  void EnterMore(std::string_view model, const SqliteReservation& held, int64_t tokens, int64_t now,
                 SqliteModel* state);
  size_t Free(SqliteQuery& count, size_t bound);

  SqliteModels& models_;
  SqliteSweep& sweep_;
  const SqliteBounds bounds_;
  SqliteQuery count_models_;
  SqliteQuery count_tiers_;
};

}  // namespace weir
