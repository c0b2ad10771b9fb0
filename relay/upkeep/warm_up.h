// WarmUp: fills the memory of a relay that has just started with what was in it before: while the relay runs, and when
// it stops, WarmUp notes in a file which records clients had read, and at the next start it reads these and the index
// (relay/store/read_ahead.h), before clients ask for them. It is bulk work, in pieces that the limiter admits.
//
// The file has the serials of the records, of the newest kMostNoted if there are more. If it is lost or damaged, or
// belongs to another database, then the relay reads fewer records ahead, or others; answers never depend on it.
//
// Threads: any thread may call state(). Stop and the destructor must not be called by two at once. The object has a
// thread of its own, which reads first and then writes the file from time to time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/store/bulk_reads.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

// Returns the text of the file: a first line with its version, then a line for each serial, with its difference from
// the one before. The serials are in ascending order.
std::string NoteOf(std::span<const uint64_t> serials);
// Returns the serials in the text. Leaves out all that follows a line that cannot be right.
std::vector<uint64_t> SerialsIn(std::string_view note);

class WarmUp {
 public:
  static constexpr Duration kNoteEvery = std::chrono::minutes(10);
  static constexpr size_t kMostNoted = 2'000'000;
  static constexpr int kMostErrors = 10;  // the warm-up ends when this many pieces have failed

  struct State {
    bool runs = false;     // it still reads
    double done = 0;       // the share of the noted records that it has read or passed over, 0 to 1
    uint64_t records = 0;  // records that it has read
  };

  // `file` is the file's name. `store` and `clock` must outlive the object. Tests note more often.
  WarmUp(const RocksDbStore& store, std::string file, BulkReads::Admit admit, const Clock& clock,
         Duration note_every = kNoteEvery);
  ~WarmUp() { Stop(); }

  State state() const;
  // Ends the thread. If the relay ran for less than kNoteEvery, but all was read ahead, writes the file first.
  void Stop();

 private:
  void Run();
  Status ReadAll();
  Result<std::vector<uint64_t>> Noted() const;
  Status Note() const;

  const RocksDbStore& store_;
  const std::string file_;
  const Clock& clock_;
  const Duration note_every_;
  BulkReads reads_;

  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  State state_ WEIR_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace weir
