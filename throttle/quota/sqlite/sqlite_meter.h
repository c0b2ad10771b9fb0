// SqliteMeter: a counter in a SQLite quota file, stored as a row. It is a window, with entries in another table, or a
// bucket, a day or a month, without any. The counters of a model's own minute have no key; all others belong to tiers.
// SqliteMeters reads and writes counters, in a transaction that the caller has begun. Private to the SQLite store.
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

// Times in the file are nanoseconds since 1970.
inline WallTime SqliteTime(int64_t ns) { return WallTime(Duration(ns)); }
inline int64_t SqliteNs(WallTime time) { return time.time_since_epoch().count(); }

// A window keeps as many entries as a WindowLog (window_log.h) and merges them in the same way, also if the file has
// little room left.
class SqliteMeter {
 public:
  // Makes a counter that begins at `now` and has no row yet. `model` and `key` must outlive it.
  SqliteMeter(std::string_view model, std::string_view key, const Limit& limit, int64_t now);

  Limit::Unit unit() const { return limit_.unit; }
  bool has_row() const { return id_ != 0; }
  int64_t id() const { return id_; }
  bool empty() const { return row_.rows == 0; }  // only for windows: there is no entry
  int64_t used() const;
  bool Fits(int64_t more, const Limit& limit) const;

  // A reservation pins the counters that it may still need (Meter::Pin).
  void Pin() { ++row_.pins; }
  void Unpin();

 private:
  friend class SqliteMeters;

  // The columns of the row that change.
  struct Row {
    int64_t rate = 1;    // for a bucket: the amount of its limit, by which it is refilled
    int64_t amount = 0;  // used in the window or period; for a bucket, what it lacks to be full, rounded down
    int64_t rest = 0;    // for a bucket, in addition: rest / per
    int64_t rows = 0;    // entries of a window
    int64_t next = 1;    // number of the next entry
    int64_t first = 0;   // when the newest entry began
    int64_t ts = 0;      // time of the newest entry, or of a bucket's debt; the end of a day or month
    int64_t pins = 0;    // reservations that have pinned it
    bool operator==(const Row&) const = default;
  };

  int64_t per() const { return limit_.per.count(); }
  bool MergesAt(int64_t now, bool is_short) const;
  int64_t Until() const;  // the time from which on nothing counts

  std::string_view model_;
  std::string_view key_;
  Limit limit_;
  int64_t id_ = 0;
  Row row_;
  Row stored_;
  std::optional<RefilledBucket> bucket_;
};

// SqliteTierMeters: the counters of a charge's tiers, in the same order. Two tiers whose counters have the same name
// share one.
class SqliteTierMeters {
 public:
  void Add(const SqliteMeter& meter) {
    place_of_.push_back(meters_.size());
    meters_.push_back(meter);
  }
  // Adds a tier whose counter is that of the tier at `index`.
  void AddAgain(size_t index) { place_of_.push_back(place_of_[index]); }

  size_t size() const { return place_of_.size(); }
  SqliteMeter& operator[](size_t index) { return meters_[place_of_[index]]; }
  const SqliteMeter& operator[](size_t index) const { return meters_[place_of_[index]]; }
  std::vector<SqliteMeter>& each() { return meters_; }  // each counter once
  const std::vector<SqliteMeter>& each() const { return meters_; }

 private:
  std::vector<SqliteMeter> meters_;
  std::vector<size_t> place_of_;
};

// SqliteMeters: reads, changes and writes counters. A counter is read as of `now`: entries that have left the window by
// then are deleted. Changes of entries are written at once, those of a counter's row by Save.
class SqliteMeters {
 public:
  explicit SqliteMeters(SqliteDatabase& database);

  // Finds out whether the file has more than `most_bytes`. If so, windows merge more of their entries until the next
  // call.
  void LookAtSize(size_t most_bytes);
  // Returns the counter, or a new one without a row.
  SqliteMeter Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now);
  // Returns the counter with this id; nothing if there is none.
  std::optional<SqliteMeter> Load(int64_t id, int64_t now);
  // Loads the two counters of the model's own minute, if they have rows.
  void LoadOwn(std::string_view model, int64_t now, SqliteMeter* requests, SqliteMeter* tokens);
  // Writes the row if it has changed; makes it if there is none.
  void Save(SqliteMeter* meter);

  // Adds an amount. Returns the number of its entry, or 0 if there is none: for a bucket, a day or a month, or if
  // `amount` is not above 0.
  int64_t Add(SqliteMeter* meter, int64_t now, int64_t amount);
  // Takes back `amount` of the `added`, which Add put into `entry` at `ts`, as far as it still counts.
  void GiveBack(SqliteMeter* meter, int64_t entry, int64_t ts, int64_t now, int64_t added, int64_t amount);
  // Returns the time until `amount` fits. Only for a counter in which `amount` does not fit now.
  Duration UntilFits(const SqliteMeter& meter, int64_t now, int64_t amount, const Limit& limit);
  // Returns the entries that count, in the order of time.
  std::vector<ModelState::Entry> Entries(const SqliteMeter& meter);
  // Fills an empty window with those of the entries that count at `now`.
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
