// Standings: the standing of all authors that this relay knows (standing.h). It remembers them in a table of bounded
// size (author_table.h), learns from the events that the relay takes, and keeps the table in a file, the snapshot, so
// that standing survives a restart.
//
// A thread of its own does the slow work, about once a second: it finds the authors within three steps of follows from
// the operator's own list (follow_graph.h), counts the reports about an author (report_count.h), and writes the
// snapshot. If there is no snapshot, it first learns from the stored events (stored_history.h). It reads the store as
// bulk work, in slices, each of which needs an admission by the limiter. Several relays on one PostgreSQL each measure
// the standing of those that write to them.
//
// Threads: any thread may call any function, except that Open, Start and Stop belong to the owner. RungOf, Find
// and NoteAccepted take about a microsecond and never wait for the disk.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/nostr/event.h"
#include "relay/rules/rate_counts.h"
#include "relay/standing/author_table.h"
#include "relay/standing/standing.h"
#include "relay/standing/standing_settings.h"
#include "relay/standing/stored_history.h"
#include "relay/store/bulk_reads.h"
#include "relay/store/event_store.h"

namespace weir {

struct StandingsStats {
  std::array<uint64_t, kRungs> authors{};  // that are remembered, by rung
  uint64_t bytes = 0;                      // memory of the table
  uint64_t not_kept = 0;                   // events of authors for whom the table had no room
  uint64_t follow_lists = 0;               // that the last search of follows has read
  uint64_t follows_at_seconds = 0;         // when it ended, since 1970; 0 if none has
  uint64_t snapshot_at_seconds = 0;        // when the snapshot was written or read last; 0 if never
  bool learning = false;                   // the stored events are not all learned yet
};

class Standings {
 public:
  // Asks the limiter to admit a scan of this cost as bulk work: Admit(Operation::kRead, cost, {.work_class = kBulk}).
  // An empty function admits everything.
  using Admit = BulkReads::Admit;

  // The days on which authors of one address write count for about this many authors a day. Authors that the follows
  // reach, and those that have all the points that days can give, take none of these places.
  static constexpr uint64_t kAuthorsOfAnAddressEachDay = 8;

  // `store` and the clocks must outlive the object. `snapshot_path` is the file of the snapshot.
  Standings(const StandingSettings& settings, const EventStore& store, std::string snapshot_path, Admit admit,
            const Clock& clock, const WallClock& wall_clock);
  ~Standings();  // calls Stop

  // Reads the snapshot. Logs an error and begins anew if it is damaged. Call it once, before Start.
  void Open();
  // Starts the thread. Without it, the owner calls GoOn, as tests do.
  void Start();
  // Ends the thread and writes the snapshot. The limiter may be stopped before or after.
  void Stop();
  // Does the slow work that is due, and waits for the limiter's admissions. Only one thread may call it.
  void GoOn();

  // Replaces the operator's own list, which is at first that of the settings (TrustFrom). Its keys are trusted at once,
  // and the thread finds within a minute whom they follow. Set the first list before Start.
  void SetOwnList(std::vector<PublicKey> keys);

  // Returns kStranger for an author that is not known.
  Rung RungOf(const PublicKey& author) const;
  std::optional<AuthorRecord> Find(const PublicKey& author) const;
  // Returns true once the stored events are learned and the follows were searched. Before that, authors may stand lower
  // than they should.
  bool is_complete() const { return !learning_ && follows_at_seconds_ > 0; }
  // Explains the author's rung in sentences (ExplainRung).
  std::vector<std::string> Explain(const PublicKey& author) const;

  // Notes an event that was new in the store (SaveOutcome::kSaved), after it was saved. Call it for the events of this
  // relay's own clients, not for those of imports and other relays. `address_group` is the group of the sender's
  // address (GroupOf in relay/net/client_address.h). `proved` is true if the sender has proved the author's key
  // by AUTH. NoteAccepted itself sees deletions (kind 5), reports (kind 1984), lists of follows (kind 3) and proof of
  // work.
  void NoteAccepted(EventView event, uint64_t address_group, bool proved);

  // Walks through the table, which takes some milliseconds; so it answers from the last walk if that is less than five
  // seconds old.
  StandingsStats Stats() const;

 private:
  void Run();
  bool IsStopped() const;
  bool ReadFile();
  void BeginToLearn();
  void Learn();
  void RenewFollows();
  void ApplyFollows(AuthorTable& reached, uint64_t now_seconds);
  void TrustOwnList(uint64_t now_seconds);
  void NoteReported(const PublicKey& author);
  void CountReports();
  void SaveIfDue();
  void Save();

  const StandingSettings settings_;
  const std::string snapshot_path_;
  const Clock& clock_;
  const WallClock& wall_clock_;

  BulkReads reads_;
  mutable AuthorTable table_;
  RateCounts address_days_;
  std::atomic<uint64_t> not_kept_{0};
  std::atomic<bool> follows_changed_{false};  // a list of follows that counts has changed since the last search
  std::atomic<uint64_t> follow_lists_{0};
  std::atomic<uint64_t> follows_at_seconds_{0};
  std::atomic<uint64_t> snapshot_at_seconds_{0};
  std::atomic<bool> learning_{true};  // there is no snapshot, and none is written before all stored events are learned

  // Used by GoOn only.
  std::optional<StoredHistory> history_;
  TimePoint follows_due_{};
  TimePoint follows_soonest_{};  // the search is not repeated before, even if a list has changed
  std::optional<TimePoint> saved_;
  bool follows_failed_ = false;
  bool save_failed_ = false;

  mutable Mutex mutex_;
  Condition changed_;
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  std::vector<PublicKey> own_list_ WEIR_GUARDED_BY(mutex_);
  std::set<PublicKey> reported_ WEIR_GUARDED_BY(mutex_);  // authors whose reports are to be counted

  mutable Mutex walk_mutex_;
  mutable std::optional<TimePoint> walked_ WEIR_GUARDED_BY(walk_mutex_);
  mutable std::array<uint64_t, kRungs> authors_ WEIR_GUARDED_BY(walk_mutex_){};

  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace weir
