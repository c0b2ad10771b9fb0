// The counts of tiers within a transaction: windows with their entries, and buckets. Private to the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "throttle/quota/limit.h"
#include "throttle/quota/sqlite/sqlite_database.h"

namespace weir {

// Of every log: so many entries are kept apart, then those of a 1,024th of the window become one. A log has at most
// their sum.
inline constexpr int64_t kSqliteExactEntries = 4096;
inline constexpr int64_t kSqliteGranules = 1024;
inline int64_t SqliteGranule(int64_t window) { return window / kSqliteGranules; }

struct SqliteTier {
  int64_t id = 0;  // 0: there is no row
  Limit::Unit unit = Limit::Unit::kRequests;
  Limit::Kind kind = Limit::Kind::kWindow;
  int64_t per = 0;
  int64_t rate = 1;    // of a bucket: the limit's amount, by which it is refilled
  int64_t burst = 1;   // likewise
  int64_t amount = 0;  // used in the window; or what the bucket holds, rounded down: after force below zero
  int64_t rest = 0;    // of that, in addition: rest / per
  int64_t rows = 0;
  int64_t first = 0;  // when the newest entry began
  int64_t ts = 0;     // of the newest entry; of the bucket's last refill
  bool changed = false;

  bool bucket() const { return kind == Limit::Kind::kBucket; }
  int64_t used() const;
  bool Fits(int64_t more, const Limit& limit) const;
};

class SqliteTiers {
 public:
  explicit SqliteTiers(SqliteDatabase& database);

  // As of `now`. Where there is no row, as a tier is that begins now.
  SqliteTier Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now);
  std::optional<SqliteTier> Load(int64_t id, int64_t now);
  void Save(std::string_view model, std::string_view key, SqliteTier* tier);  // where it changed

  void Add(SqliteTier* tier, int64_t now, int64_t amount);
  // What was added at `ts`, where it still counts.
  void Take(SqliteTier* tier, int64_t ts, int64_t now, int64_t amount);
  // How long until `amount` fits, of a tier in which it does not now.
  int64_t WaitFor(const SqliteTier& tier, int64_t now, int64_t amount, const Limit& limit);

 private:
  void Refresh(SqliteTier* tier, int64_t now);

  SqliteDatabase& database_;
  SqliteQuery by_name_;
  SqliteQuery by_id_;
  SqliteQuery insert_;
  SqliteQuery update_;
  SqliteQuery add_;
  SqliteQuery newest_;
  SqliteQuery move_;
  SqliteQuery expire_;
  SqliteQuery step_back_;
  SqliteQuery by_time_;
  SqliteQuery reduce_;
  SqliteQuery remove_;
};

}  // namespace weir
