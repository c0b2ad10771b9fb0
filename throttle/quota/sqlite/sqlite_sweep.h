// Forgets what no longer counts, a part of the file at a time. Private to the store.
#pragma once

#include <string>

#include "throttle/quota/sqlite/sqlite_model.h"

namespace weir {

class SqliteSweep {
 public:
  SqliteSweep(SqliteDatabase& database, SqliteModels& models);

  // Each sweeps a part, within a transaction, from where it stopped, and round again. Returns true after the last part
  // of a round.
  bool Models(int64_t now, uint64_t* expired);
  bool Tiers(int64_t now);

 private:
  void Ended(int64_t now);

  SqliteModels& models_;
  SqliteQuery next_models_;
  SqliteQuery next_ended_;
  SqliteQuery has_tiers_;
  SqliteQuery next_tiers_;
  SqliteQuery drop_entries_;
  SqliteQuery drop_tier_;
  std::string model_;
  std::string ended_;
  int64_t tier_ = 0;
};

}  // namespace weir
