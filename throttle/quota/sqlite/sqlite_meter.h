// The counts of a file, each a row of one table: windows with their entries, and buckets, days and months, which have
// none. A model's own counts are the windows of a minute that have no key; all others are of tiers. Used within a
// transaction. Private to the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "throttle/quota/limit.h"
#include "throttle/quota/quota_store.h"
#include "throttle/quota/refilled_bucket.h"
#include "throttle/quota/sqlite/sqlite_database.h"
#include "throttle/quota/window_log.h"

namespace weir {

inline WallTime SqliteTime(int64_t ns) { return WallTime(Duration(ns)); }
inline int64_t SqliteNs(WallTime time) { return time.time_since_epoch().count(); }

// A window keeps as many entries as WindowLog, and merges them alike, also if the file has room for few more.
class SqliteMeter {
 public:
  // A meter that begins now, and has no row yet. The names must outlive it.
  SqliteMeter(std::string_view model, std::string_view key, const Limit& limit, int64_t now);

  Limit::Unit unit() const { return limit_.unit; }
  bool has_row() const { return id_ != 0; }
  int64_t id() const { return id_; }
  bool empty() const { return row_.rows == 0; }
  int64_t used() const;
  bool Fits(int64_t more, const Limit& limit) const;

  void Pin() { ++row_.pins; }
  void Unpin();

 private:
  friend class SqliteMeters;

  // The columns that change.
  struct Row {
    int64_t rate = 1;    // for a bucket: the limit's amount, by which it is refilled
    int64_t amount = 0;  // used in the window or period; for a bucket, what it lacks to be full, rounded down
    int64_t rest = 0;    // for a bucket, in addition: rest / per
    int64_t rows = 0;
    int64_t next = 1;   // number of the next entry
    int64_t first = 0;  // when the newest entry began
    int64_t ts = 0;     // time of the newest entry, or of a bucket's debt; the end of a day or month
    int64_t pins = 0;   // reservations that hold it
    bool operator==(const Row&) const = default;
  };

  int64_t per() const { return limit_.per.count(); }
  bool MergesAt(int64_t now, bool is_short) const;
  int64_t Until() const;  // from then on nothing counts

  std::string_view model_;
  std::string_view key_;
  Limit limit_;
  int64_t id_ = 0;
  Row row_;
  Row stored_;
  std::optional<RefilledBucket> bucket_;
};

// The meters of a charge, in its order; two of the same name are one.
class SqliteTierMeters {
 public:
  void Add(const SqliteMeter& meter) {
    place_of_.push_back(meters_.size());
    meters_.push_back(meter);
  }
  void AddAgain(size_t index) { place_of_.push_back(place_of_[index]); }

  size_t size() const { return place_of_.size(); }
  SqliteMeter& operator[](size_t index) { return meters_[place_of_[index]]; }
  const SqliteMeter& operator[](size_t index) const { return meters_[place_of_[index]]; }
  std::vector<SqliteMeter>& each() { return meters_; }  // each meter once
  const std::vector<SqliteMeter>& each() const { return meters_; }

 private:
  std::vector<SqliteMeter> meters_;
  std::vector<size_t> place_of_;
};

// Reads, changes and writes meters. A meter is read as of `now`: what has left is gone. Entries change at once, a
// meter's row by Save.
class SqliteMeters {
 public:
  explicit SqliteMeters(SqliteDatabase& database);

  // Finds out whether the file has more bytes than it should. If so, its windows are coarser until the next look.
  void LookAtSize(size_t most_bytes);
  SqliteMeter Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now);
  std::optional<SqliteMeter> Load(int64_t id, int64_t now);
  // Loads the two meters of a model that have no key.
  void LoadOwn(std::string_view model, int64_t now, SqliteMeter* requests, SqliteMeter* tokens);
  void Save(SqliteMeter* meter);  // if it changed

  // Returns the number of the entry; 0 if there is none: for a bucket, a day or month, or if nothing is added.
  int64_t Add(SqliteMeter* meter, int64_t now, int64_t amount);
  // Gives back `amount` of the `added`, which went into this entry at `ts`, as far as it still counts.
  void GiveBack(SqliteMeter* meter, int64_t entry, int64_t ts, int64_t now, int64_t added, int64_t amount);
  // Time until `amount` fits, for a meter in which it does not fit now.
  Duration UntilFits(const SqliteMeter& meter, int64_t now, int64_t amount, const Limit& limit);
  // Entries that count, in the order of time.
  std::vector<ModelState::Entry> Entries(const SqliteMeter& meter);
  // Fills an empty window with the entries that count at `now`.
  void Restore(SqliteMeter* meter, std::vector<ModelState::Entry> entries, int64_t now);

 private:
  static void Read(const SqliteRows& row, SqliteMeter* meter);
  void Refresh(SqliteMeter* meter, int64_t now);
  void Append(SqliteMeter* meter, int64_t ts, int64_t amount);

  SqliteDatabase& database_;
  bool is_short_ = false;
  SqliteQuery bytes_;
  SqliteQuery by_name_;
  SqliteQuery by_id_;
  SqliteQuery own_;
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
