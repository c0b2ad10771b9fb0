// DiskBudget: says how many events have to go so that the store stays within the operator's disk budget
// (WEIR_MAX_DISK_GB), and which events the relay may still take.
//
// A removed event takes disk space until its part of the database is compacted. So the size on disk says nothing about
// a removal for minutes, and a sweeper that looked only at the size would remove far too much. The budget divides the
// size into live bytes and bytes of removed events (EventStore::RemovedBytes), and decides by the live bytes:
//
//   live bytes + usual bytes of removed events + usual bytes of logs and copies + excess <= budget
//
// The usual bytes are those that would be there if as much was removed as is saved: the removed bytes that are there
// now were removed since some time, because the oldest come back first, and the usual bytes are those that were saved
// since then. So a large removal, such as after the budget was lowered, does not itself cause further removals. The
// logs and the copies that compactions write come and go within seconds, so their average counts.
//
// The usual bytes are those of the removals until now, and what is removed now comes back later. So while removed
// events stay ever longer, as they do after an import, the size is above the budget. The excess is the slow, bounded
// integral of what the size is above the budget. These do not add to it:
//
//   * events that still have to go, so it does not wind up while the sweeper cannot keep up
//   * removed bytes beyond kMostBySaved times what was saved since their removal, such as those of a lowered budget
//   * times in which nothing is saved, because then nothing comes back
//
// If events come faster than they can be removed, the room gets less: first for imports, then for authors who are not
// known, then for all. The live bytes decide, because removed ones may come back only when more is written. They are
// compared with the budget, or with their least since the start if that was above the budget, so a relay whose budget
// was lowered goes on taking events while it removes the old ones.
//
// Threads: any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/rules/rung.h"

namespace weir {

// The events for which there is room.
enum class WriteRoom : uint8_t { kAll, kNoImports, kKnownAuthors, kNone };

struct DiskUse {
  uint64_t events = 0;
  uint64_t disk_bytes = 0;
  uint64_t removed_bytes = 0;  // the part of disk_bytes that removed events take
  uint64_t file_bytes = 0;     // the disk space of all files; 0: not known, disk_bytes counts
};

class DiskBudget {
 public:
  // The live bytes above the budget at which the room gets less, as parts of the budget. Buffers and levels of RocksDB
  // change the size by some MB at any time, so kSlackBytes come on top.
  static constexpr double kImportsWait = 0.02;
  static constexpr double kStrangersWait = 0.05;
  static constexpr double kAllWait = 0.10;
  static constexpr uint64_t kSlackBytes = 32 << 20;
  // RocksDB's buffers have at least 1 MiB each, and files, copies and removed events of some fifty buffers are always
  // there. Beside a smaller budget they are large.
  static constexpr uint64_t kLeastSteadyBytes = 1'000'000'000;
  // Removals begin when the budget is reached, and end this part below it. So they are small and steady.
  static constexpr double kRemovedAtOnce = 0.001;
  // The usual bytes follow in this part of the time in which removed bytes come back, and those of the logs in a
  // minute.
  static constexpr double kUsualLag = 0.25;
  static constexpr Duration kLeastLag = std::chrono::seconds(20);
  static constexpr Duration kOthersLag = std::chrono::minutes(1);
  // The most that is left free for removed events, for logs and copies, and for the excess. Beside a budget that is
  // small for RocksDB's buffers these would leave no room for live events.
  static constexpr double kMostUsual = 0.40;
  static constexpr double kMostOthers = 0.10;
  static constexpr double kMostExcess = 0.05;
  // The time of the integral, in times in which removed bytes come back: with one of them it would swing, because so
  // long a removal has no effect on the size. What a single look adds is bounded.
  static constexpr double kExcessLag = 3;
  static constexpr Duration kLeastExcessLag = std::chrono::minutes(10);
  static constexpr double kMostExcessOfLook = 0.03;
  // Removed bytes were 1.14 times the saved ones when 2,000 events/s were saved into 2 GB after an import.
  static constexpr double kMostBySaved = 1.25;
  static constexpr size_t kMostSamples = 2000;

  explicit DiskBudget(uint64_t bytes) : bytes_(bytes) {}

  // Notes the sizes of the store.
  void Note(const DiskUse& use, TimePoint now);
  // Returns how many events still have to go, since the last Note; 0 while the budget holds.
  uint64_t events_to_go() const;
  // Notes that the sweeper has removed events.
  void NoteRemoved(uint64_t events);
  // Notes whether all events that are left are kept by rules. The room is then kNone once the budget is reached.
  void NoteNothingLeft(bool nothing_left);

  uint64_t bytes() const { return bytes_; }
  uint64_t used_bytes() const { return used_; }
  uint64_t live_bytes() const { return live_; }
  WriteRoom room() const { return room_; }
  // Returns the reason to refuse an event whose author stands on this rung; empty if there is room for it. `rung` is
  // nullopt if the relay measures no standing; then nobody is a stranger. Deletions and requests to vanish (kinds 5 and
  // 62) of regulars are always taken, because they make room; those of others may only leave marks in the index.
  std::string Refusal(std::optional<Rung> rung, uint16_t kind) const;
  // Returns the reason to let imports wait; empty if there is room.
  std::string RefusalOfImport() const;

 private:
  // The bytes that were removed and saved until a look, by the counts of events.
  struct Sample {
    TimePoint at;
    double removed = 0;
    double saved = 0;
  };
  // `passed` is the time since the last look, in seconds.
  void NoteUsual(const DiskUse& use, double bytes_of_one, TimePoint now, double passed) WEIR_REQUIRES(mutex_);
  void NoteOthers(const DiskUse& use, double passed) WEIR_REQUIRES(mutex_);
  // `owed` counts the bytes that still have to go.
  void NoteExcess(const DiskUse& use, double owed, double passed) WEIR_REQUIRES(mutex_);
  void SetRoom(uint64_t live_bytes) WEIR_REQUIRES(mutex_);

  const uint64_t bytes_;
  mutable Mutex mutex_;
  std::deque<Sample> samples_ WEIR_GUARDED_BY(mutex_);   // the newest last
  uint64_t events_before_ WEIR_GUARDED_BY(mutex_) = 0;   // stored at the last look
  uint64_t removed_before_ WEIR_GUARDED_BY(mutex_) = 0;  // NoteRemoved since the last look, in events
  double usual_removed_ WEIR_GUARDED_BY(mutex_) = 0;
  double usual_others_ WEIR_GUARDED_BY(mutex_) = 0;  // bytes of files beside the tables and memtables
  double excess_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t least_used_ WEIR_GUARDED_BY(mutex_) = UINT64_MAX;
  uint64_t events_to_go_ WEIR_GUARDED_BY(mutex_) = 0;
  // The members below are written under mutex_ only.
  std::atomic<bool> nothing_left_{false};
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> live_{0};
  std::atomic<WriteRoom> room_{WriteRoom::kAll};
};

}  // namespace weir
