#include "import/chunk_line.h"

#include <utility>

namespace weir {

uint64_t ChunkLine::Enter() {
  const MutexLock lock(mutex_);
  slots_.emplace_back();
  return first_ + slots_.size() - 1;
}

void ChunkLine::Judged(uint64_t place, JudgedChunk chunk) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    slots_[place - first_] = std::move(chunk);
  }
  changed_.notify_one();
}

void ChunkLine::Flush() {
  {
    const MutexLock lock(mutex_);
    flush_until_ = first_ + slots_.size();
  }
  changed_.notify_one();
}

void ChunkLine::Stop() {
  std::deque<std::optional<JudgedChunk>> given_up;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    given_up.swap(slots_);
  }
  changed_.notify_one();
}

ChunkLine::Front ChunkLine::FrontOf(const BatchLimits& limits) const {
  Front front;
  size_t bytes = 0;
  for (const std::optional<JudgedChunk>& slot : slots_) {
    if (!slot) break;
    const size_t events = slot->events.size();
    const size_t size = slot->settled.chunk.text.size();
    if (front.chunks > 0) {
      // The chunks before this one have no events to save, so they do not wait for this one.
      if (front.events == 0 && events > 0) break;
      front.full = front.events + events > limits.max_events || bytes + size > limits.max_bytes;
      if (front.full) break;
    }
    ++front.chunks;
    front.events += events;
    bytes += size;
    front.full = front.events >= limits.max_events || bytes >= limits.max_bytes;
    if (front.full) break;
  }
  return front;
}

std::vector<JudgedChunk> ChunkLine::TakeBatch(const BatchLimits& limits) {
  MutexLock lock(mutex_);
  changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return stopping_ || (!slots_.empty() && slots_.front()); });
  Front front = FrontOf(limits);
  changed_.wait_for(lock, limits.linger, [&]() WEIR_REQUIRES(mutex_) {
    front = FrontOf(limits);
    const bool flushed = flush_until_ > first_ && first_ + front.chunks >= flush_until_;
    return stopping_ || front.events == 0 || front.full || flushed;
  });
  std::vector<JudgedChunk> batch;
  if (stopping_) return batch;
  batch.reserve(front.chunks);
  for (; front.chunks > 0; --front.chunks, ++first_) {
    batch.push_back(std::move(*slots_.front()));
    slots_.pop_front();
  }
  return batch;
}

}  // namespace weir
