// A log of a model, what counts in the minute, within a transaction. Private to the store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_database.h"

namespace weir {

// Of a row that anybody may have written.
inline int64_t SqliteAmount(const SqliteRows& row, int column) {
  return std::clamp<int64_t>(row.Int(column), 0, kMostAmount);
}

struct SqliteLogState {
  int64_t sum = 0;
  int64_t rows = 0;
  int64_t first = 0;  // when the newest entry began
  int64_t gone = 0;   // entries that have left

  // Of the newest entry, as long as the model is known.
  int64_t number() const { return gone + rows; }
};

// The table requests or tokens. Other programs write to it too: whatever a row says, it counts as an amount.
class SqliteLog {
 public:
  SqliteLog(SqliteDatabase& database, const std::string& table);

  // As of `now`: what counts no longer is gone, and of more entries than there may be those that are close are merged.
  void Refresh(std::string_view model, int64_t now, SqliteLogState* state);
  void Add(std::string_view model, int64_t now, int64_t amount, SqliteLogState* state);
  // From the entry of that number, which is of `ts` or later, where it still counts.
  void GiveBack(std::string_view model, int64_t entry, int64_t ts, int64_t amount, SqliteLogState* state);
  void StepBack(std::string_view model, int64_t now) { step_back_.Run(model, now); }
  // When so much of it will have left.
  int64_t WhenFreed(std::string_view model, int64_t amount);
  // Those that count, in the order of time.
  std::vector<ModelState::Entry> Entries(std::string_view model);
  // Into an empty one, as far as they count at `now`; those that are close are merged. What was entered.
  std::vector<ModelState::Entry> Restore(std::string_view model, std::vector<ModelState::Entry> entries, int64_t now);

 private:
  void Expire(std::string_view model, int64_t now, SqliteLogState* state);
  void CountAnew(std::string_view model, int64_t now, SqliteLogState* state);

  SqliteQuery by_time_;  // ts, count, rowid of ?1 from ?2 on
  SqliteQuery insert_;
  SqliteQuery clear_;
  SqliteQuery set_sum_;
  SqliteQuery merge_;
  SqliteQuery expire_;
  SqliteQuery step_back_;
  SqliteQuery reduce_;
};

}  // namespace weir
