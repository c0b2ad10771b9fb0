// SqliteSweep: deletes from a SQLite quota file the models and counters that count nothing any longer. Each call sweeps
// a part of the file. Private to the SQLite store.
#pragma once

#include <string>

#include "throttle/limits/quota/sqlite/sqlite_model.h"

namespace weir {

class SqliteSweep {
 public:
  SqliteSweep(SqliteDatabase& database, SqliteModels& models);

  // Each function sweeps the next part of the file, within a transaction that the caller has begun. Returns true if
  // that was the last part; the next call then starts again with the first part. Models also expires reservations, and
  // adds their number to `expired`. `now` is the time in nanoseconds since 1970.
  bool Models(int64_t now, uint64_t* expired);
  bool Tiers(int64_t now);

 private:
  // Forgets old ends of reservations in the next part of the file. Models calls it.
  void Ended(int64_t now);

  SqliteModels& models_;
  SqliteQuery next_models_;
  SqliteQuery next_ended_;
  SqliteQuery has_tiers_;
  SqliteQuery next_tiers_;
  SqliteQuery drop_entries_;
  SqliteQuery drop_tier_;
  std::string model_;  // the model that was swept last; empty: none in this pass over the file
  std::string ended_;  // the model whose ends were swept last; empty: none in this pass
  int64_t tier_ = 0;   // the id of the counter that was swept last; 0: none in this pass
};

}  // namespace weir
