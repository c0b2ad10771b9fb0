#include "monitors/rocksdb_buffers.h"

#include <limits>
#include <utility>

namespace weir {
namespace {

// RocksDB computes seven times the limit.
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max() / 8;

}  // namespace

bool StopsWriters(rocksdb::WriteBufferManager* manager) {
  if (manager == nullptr || !manager->enabled()) return false;
  const size_t limit = manager->buffer_size();
  if (limit == kNoLimit) return true;  // only WithoutLimit sets it, and only in a manager that stops writers
  manager->ReserveMem(1);
  manager->SetBufferSize(1);
  const bool stops = manager->ShouldStall();
  manager->SetBufferSize(limit);
  manager->ScheduleFreeMem(1);
  manager->FreeMem(1);
  return stops;
}

RocksDbBuffers::RocksDbBuffers(std::shared_ptr<rocksdb::WriteBufferManager> manager)
    : manager_(std::move(manager)), stops_writers_(StopsWriters(manager_.get())) {}

// Another database of the same manager may have a monitor of its own, whose WithoutLimit may run now.
uint64_t RocksDbBuffers::GivenLimit() {
  const uint64_t limit = manager_->buffer_size();
  if (limit != raised_bytes_ && limit != kNoLimit) {
    given_bytes_ = limit;
    raised_bytes_ = 0;
  }
  return given_bytes_;
}

SharedBuffers RocksDbBuffers::Read() {
  if (!stops_writers_) return {};
  const uint64_t given = GivenLimit();
  SharedBuffers buffers{.limit_bytes = manager_->buffer_size(),
                        .used_bytes = manager_->memory_usage(),
                        .filling_bytes = manager_->mutable_memtable_memory_usage(),
                        .stopped = manager_->IsStallActive()};
  if (raised_bytes_ != 0 && buffers.used_bytes < given - given / 8) {
    GiveBack();
    buffers.limit_bytes = given;
  }
  if (buffers.stopped && !stopped_) ++stops_;
  stopped_ = buffers.stopped;
  return buffers;
}

void RocksDbBuffers::MakeRoom(uint64_t unflushed_bytes) {
  if (!stops_writers_) return;
  const uint64_t given = GivenLimit();
  const uint64_t limit = manager_->buffer_size();
  const uint64_t needed =
      SharedBuffers{.limit_bytes = limit, .used_bytes = manager_->memory_usage()}.NeededLimit(given, unflushed_bytes);
  if (needed <= limit) return;
  raised_bytes_ = needed;
  manager_->SetBufferSize(needed);
}

Status RocksDbBuffers::WithoutLimit(const std::function<Status()>& flush) {
  const uint64_t given = stops_writers_ ? GivenLimit() : 0;
  if (given == 0) return flush();
  manager_->SetBufferSize(kNoLimit);
  Status flushed = flush();
  if (manager_->buffer_size() == kNoLimit) manager_->SetBufferSize(raised_bytes_ != 0 ? raised_bytes_ : given);
  return flushed;
}

void RocksDbBuffers::GiveBack() {
  if (raised_bytes_ != 0 && manager_->buffer_size() == raised_bytes_) manager_->SetBufferSize(given_bytes_);
  raised_bytes_ = 0;
}

}  // namespace weir
