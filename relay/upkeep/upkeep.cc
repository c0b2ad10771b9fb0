#include "relay/upkeep/upkeep.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "config/text/readable.h"
#include "relay/store/database_checkpoint.h"
#include "relay/upkeep/checkpoint_place.h"

namespace weir {
namespace {

constexpr const char* kCancelled = "it was cancelled";

}  // namespace

Status CompactAll(const RocksDbStore& store, CompactWhat what, std::atomic<bool>* cancelled,
                  const std::function<Status(double done)>& before_piece) {
  std::string resume;
  uint64_t done_bytes = 0;
  double done = 0;
  for (;;) {
    if (Status status = before_piece(done); !status.ok()) return status;
    const Result<CompactedPiece> piece = CompactSome(store, what, &resume, cancelled);
    if (*cancelled) return Status::Error(kCancelled);
    if (!piece.ok()) return piece.status();
    done_bytes += piece.value().bytes;
    if (piece.value().left_bytes == 0) return {};
    done = static_cast<double>(done_bytes) / static_cast<double>(done_bytes + piece.value().left_bytes);
  }
}

bool IsBulkHeld(const LimiterView& view) {
  return view.emergency || !view[WorkClass::kBulk].open || view.scans_at_once > 0;
}

Upkeep::Upkeep(const RocksDbStore& store, std::string database, IsHeld is_held, Duration look_every)
    : store_(store),
      database_(std::move(database)),
      is_held_(std::move(is_held)),
      look_every_(look_every),
      thread_([this] { Run(); }) {}

Status Upkeep::MakeCheckpoint() {
  if (!CheckpointPlace::IsTaken(database_)) return Status::Error("no `weir backup` waits for a checkpoint");
  std::error_code error;
  const std::string place = std::filesystem::absolute(CheckpointPlace::CheckpointIn(database_), error).string();
  return weir::MakeCheckpoint(store_.db(), place);
}

bool Upkeep::backup_runs() const { return CheckpointPlace::IsTaken(database_); }

Status Upkeep::BeginCompaction() {
  const uint64_t bytes = store_.Sizes().disk_bytes;
  const MutexLock lock(mutex_);
  if (stopping_) return Status::Error("the relay stops");
  if (compaction_.runs) return Status::Error("a compaction runs already, and has done " + Percent(compaction_.done));
  compaction_ = Compaction();
  compaction_.runs = true;
  compaction_.bytes_then = bytes;
  cancelled_ = false;
  return_cancelled_ = true;  // this one does more
  changed_.notify_all();
  return {};
}

bool Upkeep::CancelCompaction() {
  const MutexLock lock(mutex_);
  if (!compaction_.runs) return false;
  cancelled_ = true;
  changed_.notify_all();
  return true;
}

Compaction Upkeep::compaction() const {
  const uint64_t bytes = store_.Sizes().disk_bytes;
  const MutexLock lock(mutex_);
  Compaction now = compaction_;
  now.bytes_now = bytes;
  return now;
}

void Upkeep::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    cancelled_ = true;
    return_cancelled_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Upkeep::Run() {
  for (;;) {
    RemoveAbandoned();
    bool is_asked = false;
    {
      MutexLock lock(mutex_);
      changed_.wait_for(lock, look_every_, [this]() WEIR_REQUIRES(mutex_) { return stopping_ || compaction_.runs; });
      if (stopping_) return;
      is_asked = compaction_.runs;
      return_cancelled_ = is_asked;
    }
    if (is_asked) {
      Compact();
    } else {
      ReturnSpace();
    }
  }
}

void Upkeep::RemoveAbandoned() const {
  if (const Status removed = CheckpointPlace::RemoveAbandoned(database_); !removed.ok())
    spdlog::warn("{}", removed.message());
}

void Upkeep::Compact() {
  spdlog::info("compacting the database");
  const Status status = FaultsAsStatus([this] {
    return CompactAll(store_, CompactWhat::kAll, &cancelled_, [this](double share) { return AwaitPiece(share); });
  });
  const Compaction ended = compaction();
  if (status.ok()) {
    spdlog::info("compacted the database: {} before, {} now", ReadableBytes(ended.bytes_then),
                 ReadableBytes(ended.bytes_now));
  } else {
    spdlog::warn("the compaction of the database ended before it was done: {}", status.message());
  }
  const MutexLock lock(mutex_);
  compaction_.runs = compaction_.waits = false;
  if (status.ok()) compaction_.done = 1;
  compaction_.error = status.ok() ? "" : status.message();
}

Status Upkeep::AwaitPiece(double done) {
  RemoveAbandoned();  // a compaction may take hours
  const auto over = [this]() WEIR_REQUIRES(mutex_) { return stopping_ || cancelled_; };
  for (Duration waited{};; waited += kAskAgainAfter) {
    const bool held = is_held_() && waited < kLongestWait;
    MutexLock lock(mutex_);
    compaction_.done = done;
    compaction_.waits = held;
    if (over()) return Status::Error(kCancelled);
    if (!held) return {};
    changed_.wait_for(lock, kAskAgainAfter, over);
  }
}

// A backup keeps the tables that it copies, so a compaction beside it would only take more space.
void Upkeep::ReturnSpace() {
  const TimePoint begin = Clock::System().Now();
  const uint64_t removed_bytes = store_.RemovedBytes();
  const uint64_t bytes_then = store_.Sizes().disk_bytes;
  if (!space_return_.IsDue(removed_bytes, bytes_then, begin) || backup_runs()) return;
  spdlog::info("compacting what was removed: about {} of {}", ReadableBytes(removed_bytes), ReadableBytes(bytes_then));
  returns_space_ = true;
  const Status status = FaultsAsStatus([this] {
    return CompactAll(store_, CompactWhat::kRemoved, &return_cancelled_,
                      [this](double /*done*/) { return AwaitReturnPiece(); });
  });
  returns_space_ = false;
  space_return_.NoteCompaction(begin, Clock::System().Now());
  if (status.ok()) {
    spdlog::info("compacted what was removed: {} now", ReadableBytes(store_.Sizes().disk_bytes));
  } else if (!return_cancelled_) {
    spdlog::warn("the space of removed events does not come back yet: {}", status.message());
  }
}

Status Upkeep::AwaitReturnPiece() {
  RemoveAbandoned();
  const auto over = [this]() WEIR_REQUIRES(mutex_) { return stopping_ || return_cancelled_; };
  for (Duration waited{}; is_held_() && waited < kLongestWait; waited += kAskAgainAfter) {
    MutexLock lock(mutex_);
    if (changed_.wait_for(lock, kAskAgainAfter, over)) break;
  }
  return return_cancelled_ ? Status::Error(kCancelled) : Status();
}

}  // namespace weir
