#include "relay/upkeep/upkeep.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "config/text/readable.h"
#include "relay/store/compaction.h"
#include "relay/store/database_checkpoint.h"
#include "relay/upkeep/checkpoint_place.h"

namespace weir {
namespace {

constexpr const char* kCancelled = "it was cancelled";

}  // namespace

Status CompactAll(const RocksDbStore& store, std::atomic<bool>* cancelled,
                  const std::function<Status(double done)>& before_piece) {
  std::string resume;
  uint64_t done_bytes = 0;
  double done = 0;
  for (;;) {
    if (Status status = before_piece(done); !status.ok()) return status;
    const Result<CompactedPiece> piece = CompactSome(store, &resume, cancelled);
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

Upkeep::Upkeep(const RocksDbStore& store, std::string database, IsHeld is_held)
    : store_(store), database_(std::move(database)), is_held_(std::move(is_held)), thread_([this] { Run(); }) {}

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
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Upkeep::Run() {
  for (;;) {
    RemoveAbandoned();
    {
      MutexLock lock(mutex_);
      changed_.wait_for(lock, kLookEvery, [this]() WEIR_REQUIRES(mutex_) { return stopping_ || compaction_.runs; });
      if (stopping_) return;
      if (!compaction_.runs) continue;
    }
    Compact();
  }
}

void Upkeep::RemoveAbandoned() const {
  if (const Status removed = CheckpointPlace::RemoveAbandoned(database_); !removed.ok())
    spdlog::warn("{}", removed.message());
}

void Upkeep::Compact() {
  spdlog::info("compacting the database");
  const Status status = FaultsAsStatus(
      [this] { return CompactAll(store_, &cancelled_, [this](double share) { return AwaitPiece(share); }); });
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

}  // namespace weir
