// SqliteMeter: a counter in a SQLite quota file. It counts for a limit, and is of the limit's kind (limit.h): a window,
// a bucket, a calendar day or a calendar month. Each counter is a row of a table. A window also has entries
// (window_log.h), which are rows of another table. A model's own limits of requests and tokens a minute have counters
// with an empty key; all other counters belong to tiers. SqliteMeters reads and writes counters, in a transaction that
// the caller has begun. Private to the SQLite store.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "throttle/limits/quota/limit.h"
#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/refilled_bucket.h"
#include "throttle/limits/quota/sqlite/sqlite_database.h"
#include "throttle/limits/quota/window_log.h"

namespace weir {

// The file has times as nanoseconds since 1970.
inline WallTime SqliteTime(int64_t ns) { return WallTime(Duration(ns)); }
inline int64_t SqliteNs(WallTime time) { return time.time_since_epoch().count(); }

// A window keeps as many entries as a WindowLog (window_log.h). It merges them in the same way, and more of them if the
// file is large (SqliteMeters::LookAtSize).
class SqliteMeter {
 public:
  // Makes a counter that starts at `now` and has no row yet. `model` and `key` must outlive the counter.
  SqliteMeter(std::string_view model, std::string_view key, const Limit& limit, int64_t now);

  Limit::Unit unit() const { return limit_.unit; }
  bool has_row() const { return id_ != 0; }
  int64_t id() const { return id_; }
  bool empty() const { return row_.rows == 0; }  // true if there is no entry; only for windows
  int64_t used() const;
  bool Fits(int64_t more, const Limit& limit) const;

  // A reservation pins the counters that it may still need (Meter::Pin in meter.h).
  void Pin() { ++row_.pins; }
  void Unpin();

 private:
  friend class SqliteMeters;

  // The columns of the row that can change.
  struct Row {
    int64_t rate = 1;    // for a bucket: the amount that it gains in each period (Limit::amount)
    int64_t amount = 0;  // used in the window, day or month; for a bucket: what it lacks until it is full, rounded down
    int64_t rest = 0;    // only for a bucket: it lacks rest / per more than `amount`
    int64_t rows = 0;    // number of entries of a window
    int64_t next = 1;    // number of the next entry
    int64_t first = 0;   // when the newest entry was made
    int64_t ts = 0;      // when a window last got an amount, or a bucket lacked `amount`; the end of a day or month
    int64_t pins = 0;    // number of reservations that have pinned the counter
    bool operator==(const Row&) const = default;
  };

  int64_t per() const { return limit_.per.count(); }
  bool MergesAt(int64_t now, bool is_short) const;
  int64_t Until() const;  // the time from which the counter may be deleted, if it is not pinned

  std::string_view model_;
  std::string_view key_;
  Limit limit_;
  int64_t id_ = 0;
  Row row_;
  Row stored_;
  std::optional<RefilledBucket> bucket_;
};

// SqliteTierMeters: the counters of a charge's tiers, in the same order. If the counters of two limits have the same
// name, they are one counter.
class SqliteTierMeters {
 public:
  void Add(const SqliteMeter& meter) {
    place_of_.push_back(meters_.size());
    meters_.push_back(meter);
  }
  // Adds a tier that shares the counter of the tier at `index`.
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

// SqliteMeters: reads, changes and writes counters. When it reads a counter, it deletes the entries that have left the
// window by `now`. It writes changes of entries at once; Save writes the changes of a counter's row.
class SqliteMeters {
 public:
  explicit SqliteMeters(SqliteDatabase& database);

  // Finds out whether the file has more than `most_bytes`. If so, windows merge more of their entries until the next
  // call.
  void LookAtSize(size_t most_bytes);
  // Returns the counter, or a new counter without a row if the file has none.
  SqliteMeter Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now);
  // Returns the counter with this id, or nothing if there is none.
  std::optional<SqliteMeter> Load(int64_t id, int64_t now);
  // Loads the two counters of the model's own limits a minute. Leaves a counter as it is if it has no row.
  void LoadOwn(std::string_view model, int64_t now, SqliteMeter* requests, SqliteMeter* tokens);
  // Writes the row if it has changed. Makes the row if there is none.
  void Save(SqliteMeter* meter);

  // Adds an amount. Returns the number of the entry that received it. Returns 0 for a bucket, a day or a month, which
  // have no entries, and if `amount` is not above 0, because nothing is added then.
  int64_t Add(SqliteMeter* meter, int64_t now, int64_t amount);
  // Subtracts `amount` from a counter to which Add has added `added` at the time `ts`; `entry` is what Add returned.
  // Does not subtract what no longer counts.
  void GiveBack(SqliteMeter* meter, int64_t entry, int64_t ts, int64_t now, int64_t added, int64_t amount);
  // Returns the time until `amount` fits. REQUIRES: `amount` does not fit now.
  Duration UntilFits(const SqliteMeter& meter, int64_t now, int64_t amount, const Limit& limit);
  // Returns the entries that count, in order of time.
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
