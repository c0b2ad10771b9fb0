// The counts of tiers within a transaction: windows with their entries, and buckets. Private to the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "throttle/quota/limit.h"
#include "throttle/quota/sqlite/sqlite_database.h"

namespace weir {

// Of every log: so many entries are kept apart, then those of a 1,024th of the window become one. A log has at most
// kSqliteMostEntries, whatever the clock does; a full one of kMostAmount each still fits into 64 bits.
inline constexpr int64_t kSqliteExactEntries = 4096;
inline constexpr int64_t kSqliteMostEntries = 2 * kSqliteExactEntries;
inline constexpr int64_t kSqliteGranules = 1024;
inline int64_t SqliteGranule(int64_t window) { return window / kSqliteGranules; }
// Whether what comes now is added to the newest entry, whose first part is of `first`.
inline bool SqliteMerges(int64_t rows, int64_t first, int64_t now, int64_t window) {
  return rows >= kSqliteMostEntries || (rows >= kSqliteExactEntries && now - first < SqliteGranule(window));
}

struct SqliteTier {
  int64_t id = 0;  // 0: there is no row
  Limit::Unit unit = Limit::Unit::kRequests;
  Limit::Kind kind = Limit::Kind::kWindow;
  int64_t per = 0;
  int64_t rate = 1;    // of a bucket: the limit's amount, by which it is refilled
  int64_t amount = 0;  // used in the window; or what the bucket lacks to be full, rounded down
  int64_t rest = 0;    // of that, in addition: rest / per
  int64_t rows = 0;
  int64_t next = 1;   // the number of the next entry
  int64_t first = 0;  // when the newest entry began
  int64_t ts = 0;     // of the newest entry; of the bucket's last refill
  int64_t pins = 0;   // open reservations that hold it
  bool changed = false;

  bool bucket() const { return kind == Limit::Kind::kBucket; }
  int64_t used() const;
  bool Fits(int64_t more, const Limit& limit) const;
};

// Those of a charge, in its order; two of the same name are one.
class SqliteTierRows {
 public:
  void Add(SqliteTier tier) {
    row_of_.push_back(rows_.size());
    rows_.push_back(std::move(tier));
  }
  void AddAgain(size_t index) { row_of_.push_back(row_of_[index]); }

  size_t size() const { return row_of_.size(); }
  SqliteTier& operator[](size_t index) { return rows_[row_of_[index]]; }
  const SqliteTier& operator[](size_t index) const { return rows_[row_of_[index]]; }
  const std::vector<SqliteTier>& rows() const { return rows_; }  // each once

 private:
  std::vector<SqliteTier> rows_;
  std::vector<size_t> row_of_;
};

class SqliteTiers {
 public:
  explicit SqliteTiers(SqliteDatabase& database);

  // As of `now`. Where there is no row, as a tier is that begins now.
  SqliteTier Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now);
  std::optional<SqliteTier> Load(int64_t id, int64_t now);
  void Save(std::string_view model, std::string_view key, SqliteTier* tier);  // where it changed

  // The number of the entry; of a bucket 0.
  int64_t Add(SqliteTier* tier, int64_t now, int64_t amount);
  // `amount` of the `added`, which was at `ts` and went into this entry, as far as it still counts.
  void GiveBack(SqliteTier* tier, int64_t entry, int64_t ts, int64_t now, int64_t added, int64_t amount);
  // How long until `amount` fits, of a tier in which it does not now.
  int64_t WaitFor(const SqliteTier& tier, int64_t now, int64_t amount, const Limit& limit);

 private:
  void Refresh(SqliteTier* tier, int64_t now);
  void Expire(SqliteTier* tier, int64_t until);
  int64_t AmountIn(const SqliteTier& tier, int64_t entry);

  SqliteDatabase& database_;
  SqliteQuery by_name_;
  SqliteQuery by_id_;
  SqliteQuery insert_;
  SqliteQuery update_;
  SqliteQuery add_;
  SqliteQuery entry_;
  SqliteQuery set_;
  SqliteQuery expire_;
  SqliteQuery step_back_;
  SqliteQuery entries_;
};

}  // namespace weir
