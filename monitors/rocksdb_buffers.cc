#include "monitors/rocksdb_buffers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "config/mutex.h"

namespace weir {

using Manager = rocksdb::WriteBufferManager;

namespace {

// RocksDB computes seven times the limit.
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max() / 8;

}  // namespace

// The limit of one manager, which all RocksDbBuffers of this manager share.
struct RocksDbBuffers::Limit {
  Mutex mutex;
  uint64_t given_bytes WEIR_GUARDED_BY(mutex) = 0;   // the limit that the program set, as last seen
  uint64_t raised_bytes WEIR_GUARDED_BY(mutex) = 0;  // the limit that MakeRoom set; 0: none
  uint64_t kept_bytes WEIR_GUARDED_BY(mutex) = 0;    // the bytes that all databases keep
  int lifts WEIR_GUARDED_BY(mutex) = 0;              // how many calls of WithoutLimit run

  uint64_t wanted_bytes() const WEIR_REQUIRES(mutex) { return raised_bytes != 0 ? raised_bytes : given_bytes; }
  // Notices that the program has set another limit.
  void Follow(const Manager& manager) WEIR_REQUIRES(mutex) {
    const uint64_t now = manager.buffer_size();
    if (now == wanted_bytes() || (lifts > 0 && now == kNoLimit)) return;
    given_bytes = now;
    raised_bytes = 0;
  }
  // Raises the limit to this many bytes, or gives it back if the program's own is as high.
  void Raise(uint64_t bytes, Manager* manager) WEIR_REQUIRES(mutex) {
    const uint64_t raised = bytes > given_bytes ? bytes : 0;
    if (std::exchange(raised_bytes, raised) != raised && lifts == 0) manager->SetBufferSize(wanted_bytes());
  }
};

// Takes the limit off a manager while at least one Lift lives.
class RocksDbBuffers::Lift {
 public:
  Lift(Manager* manager, Limit* limit) : manager_(manager), limit_(limit) {
    const MutexLock lock(limit_->mutex);
    limit_->Follow(*manager_);
    ++limit_->lifts;
    if (limit_->given_bytes != 0) manager_->SetBufferSize(kNoLimit);
  }
  ~Lift() {
    const MutexLock lock(limit_->mutex);
    if (--limit_->lifts == 0 && manager_->buffer_size() == kNoLimit) manager_->SetBufferSize(limit_->wanted_bytes());
  }
  Lift(const Lift&) = delete;
  Lift& operator=(const Lift&) = delete;

 private:
  Manager* const manager_;
  Limit* const limit_;
};

std::shared_ptr<RocksDbBuffers::Limit> RocksDbBuffers::LimitOf(const Manager* manager) {
  // Never destroyed: a static monitor may use them until it is destroyed.
  static auto& mutex = *new Mutex;
  static auto& limits = *new std::map<const Manager*, std::weak_ptr<Limit>>;
  const MutexLock lock(mutex);
  std::erase_if(limits, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Limit> limit = limits[manager].lock();
  if (!limit) limits[manager] = limit = std::make_shared<Limit>();
  return limit;
}

bool StopsWriters(Manager* manager) {
  if (manager == nullptr || !manager->enabled()) return false;
  const auto limit = RocksDbBuffers::LimitOf(manager);
  const MutexLock lock(limit->mutex);
  if (limit->lifts > 0) return true;  // only a manager that stops writers is lifted
  const size_t bytes = manager->buffer_size();
  manager->ReserveMem(1);
  manager->SetBufferSize(1);
  const bool stops = manager->ShouldStall();
  manager->SetBufferSize(bytes);
  manager->ScheduleFreeMem(1);
  manager->FreeMem(1);
  return stops;
}

RocksDbBuffers::RocksDbBuffers(std::shared_ptr<Manager> manager)
    : manager_(std::move(manager)), limit_(StopsWriters(manager_.get()) ? LimitOf(manager_.get()) : nullptr) {}

SharedBuffers RocksDbBuffers::Read() {
  if (!limit_) return {};
  const MutexLock lock(limit_->mutex);
  limit_->Follow(*manager_);
  const bool stopped = manager_->IsStallActive();
  if (stopped && !stopped_) ++stops_;
  stopped_ = stopped;
  return {.limit_bytes = limit_->wanted_bytes(),
          .used_bytes = manager_->memory_usage(),
          .filling_bytes = manager_->mutable_memtable_memory_usage(),
          .stopped = stopped};
}

uint64_t RocksDbBuffers::stops() const {
  if (!limit_) return 0;
  const MutexLock lock(limit_->mutex);
  return stops_;
}

// A raised limit that is no longer needed falls to eight sevenths of the present use. There RocksDB soon begins a
// flush, because it does so at seven eighths of a limit; a lower limit would stop writers at once.
void RocksDbBuffers::MakeRoom(uint64_t kept_bytes) {
  if (!limit_) return;
  const MutexLock lock(limit_->mutex);
  limit_->Follow(*manager_);
  limit_->kept_bytes += kept_bytes - std::exchange(kept_bytes_, kept_bytes);
  const uint64_t given = limit_->given_bytes;
  const uint64_t needed = limit_->kept_bytes > given / 2 ? given + limit_->kept_bytes : given;
  const uint64_t used = manager_->memory_usage();
  if (given != 0) limit_->Raise(std::max(needed, std::min(limit_->raised_bytes, used + used / 7)), manager_.get());
}

bool RocksDbBuffers::is_raised() const {
  if (!limit_) return false;
  const MutexLock lock(limit_->mutex);
  return limit_->raised_bytes != 0;
}

Status RocksDbBuffers::WithoutLimit(const std::function<Status()>& flush) {
  if (!limit_) return flush();
  const Lift lift(manager_.get(), limit_.get());
  return flush();
}

void RocksDbBuffers::GiveBack() {
  if (!limit_) return;
  const MutexLock lock(limit_->mutex);
  limit_->Follow(*manager_);
  limit_->kept_bytes -= std::exchange(kept_bytes_, 0);
  if (limit_->kept_bytes <= limit_->given_bytes / 2) limit_->Raise(0, manager_.get());
}

}  // namespace weir
